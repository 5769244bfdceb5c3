// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "util/grow.h"

#define ID_LEN 64u      /* hexadecimal digits of a container */
#define UID_LEN 36u     /* of a pod, with its dashes */
#define PODS_MOST 4096u /* of one node; by hand */
/* between two looks at the folder of pods; by hand */
#define READ_AGAIN_NS 5000000000ull

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* docker-ID.scope, cri-containerd-ID.scope, libpod-ID.scope, crio-ID.scope, or ID alone; no monitor of one. */
static void take_id(const char *part, size_t len, struct container *c)
{
	len -= ends_with(part, len, ".scope") ? strlen(".scope") : 0;
	if (len < ID_LEN || strspn(part + len - ID_LEN, "0123456789abcdef") < ID_LEN)
		return;
	if (len > ID_LEN && part[len - ID_LEN - 1] != '-' && part[len - ID_LEN - 1] != ':')
		return;
	if (len > ID_LEN && len - ID_LEN >= 7 && !memcmp(part + len - ID_LEN - 7, "conmon-", 7))
		return;
	memcpy(c->id, part + len - ID_LEN, ID_LEN);
	c->id[ID_LEN] = 0;
}

/* lxc.payload.NAME, or NAME below /lxc */
static void take_lxc(const char *part, size_t len, bool below_lxc, struct container *c)
{
	static const char payload[] = "lxc.payload.";
	size_t skip =
		len > sizeof(payload) - 1 && !memcmp(part, payload, sizeof(payload) - 1) ? sizeof(payload) - 1 : 0;

	if ((skip || below_lxc) && len - skip < sizeof(c->id) && !*c->id) {
		memcpy(c->id, part + skip, len - skip);
		c->id[len - skip] = 0;
	}
}

/* kubepods-burstable-podUID.slice with _ for -, or podUID */
static void take_pod(const char *part, size_t len, struct container *c)
{
	size_t n = len - (ends_with(part, len, ".slice") ? strlen(".slice") : 0), i = 0;
	const char *uid = part + n - UID_LEN;

	if (n < UID_LEN + 3 || memcmp(uid - 3, "pod", 3))
		return;
	for (; i < UID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? uid[i] != '-' && uid[i] != '_' : !strchr("0123456789abcdef", uid[i]))
			return;
		c->pod_uid[i] = dash ? '-' : uid[i];
	}
	c->pod_uid[i] = 0;
}

static void take_unit(const char *part, size_t len, struct container *c)
{
	if (!ends_with(part, len, ".service") || len >= sizeof(c->unit))
		return;
	memcpy(c->unit, part, len);
	c->unit[len] = 0;
}

static void container_read(const char *cgroup, struct container *c)
{
	bool below_lxc = false;

	*c = (struct container){ 0 };
	while (*cgroup) {
		size_t len = strcspn(cgroup, "/");

		if (len) {
			take_id(cgroup, len, c);
			take_lxc(cgroup, len, below_lxc, c);
			take_pod(cgroup, len, c);
			take_unit(cgroup, len, c); /* the innermost */
			below_lxc = len == 3 && !memcmp(cgroup, "lxc", 3);
		}
		cgroup += len + (cgroup[len] == '/');
	}
}

const char *container_of_groups(char *text, struct container *c)
{
	const char *best = "";
	bool named = false;

	*c = (struct container){ 0 };
	for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *at = strchr(line, ':');
		struct container in;

		at = at ? strchr(at + 1, ':') : NULL;
		if (!at)
			continue;
		container_read(at + 1, &in);
		if (*best && !(!named && (*in.id || !strncmp(line, "0::", 3))))
			continue;
		named = *in.id;
		best = at + 1;
		*c = in;
	}
	return best;
}

/* ---- pods */

static void take_folder(struct pods *p, const char *name)
{
	const char *uid = strrchr(name, '_'), *space = strchr(name, '_');
	struct pod pod;

	if (!uid || uid == space || strlen(uid + 1) != UID_LEN || (size_t)(uid - name) >= sizeof(pod.name) ||
	    p->count >= PODS_MOST)
		return;
	memcpy(pod.uid, uid + 1, UID_LEN + 1);
	memcpy(pod.name, name, (size_t)(uid - name));
	pod.name[space - name] = '/';
	pod.name[uid - name] = 0;
	if (!PUSH(p->at, p->count, p->cap, 64, pod))
		return;
}

static const char *find_pod(const struct pods *p, const char *uid)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->at[i].uid, uid))
			return p->at[i].name;
	return "";
}

const char *pods_find(struct pods *p, const char *folder, const char *uid, uint64_t now)
{
	const char *name = find_pod(p, uid);
	struct dirent *de;
	DIR *dir;

	if (*name || !*uid || (p->read_at && now - p->read_at < READ_AGAIN_NS))
		return name;
	p->read_at = now;
	p->count = 0;
	dir = opendir(folder);
	while (dir && (de = readdir(dir)))
		take_folder(p, de->d_name);
	if (dir)
		closedir(dir);
	return find_pod(p, uid);
}

void pods_release(struct pods *p)
{
	free(p->at);
	*p = (struct pods){ 0 };
}
