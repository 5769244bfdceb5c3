/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a control group's path says of a process: its unit of systemd, its container, its pod. Pure, but for
 * pods_find(), which reads the names that the node's kubelet gives its folders of logs. Included by user/attr and
 * user/daemon.
 */
#ifndef ACCPERF_PROC_CONTAINER_H
#define ACCPERF_PROC_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "": not in one, or the path does not say */
struct container {
	char unit[64];
	char id[65];      /* of docker, containerd, cri-o, podman: 64 letters; of lxc a name */
	char pod_uid[37]; /* with dashes */
	char pod[128];    /* NAMESPACE/NAME */
};

/* All but `pod`, from the text of /proc/PID/cgroup, which it cuts: of the first line that names a container, else of
 * version 2's, else of the first. Where both versions are mounted a container may be in a group of either. Returns that
 * line's path. */
const char *container_of_groups(char *text, struct container *c);

#define POD_LOGS "/var/log/pods"

struct pod {
	char uid[37], name[128];
};

struct pods {
	struct pod *at;
	size_t count, cap;
	uint64_t read_at; /* ns; 0: never */
};

/* NAMESPACE/NAME of a pod, from FOLDER/NAMESPACE_NAME_UID; "": it is not known. Reads the folder at most once in five
 * seconds, and only where the pod is new. */
const char *pods_find(struct pods *p, const char *folder, const char *uid, uint64_t now);
void pods_release(struct pods *p);

#endif
