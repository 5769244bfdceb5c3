// SPDX-License-Identifier: GPL-2.0-or-later
/* Space for profiles: the daemon's side of keeper.h. */
#include "daemon/daemon_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"

#define MORE 8                    /* recording goes on when this part of the reserve is there beyond it */
#define FILES_LEAST 16u           /* of each service a folder and a profile at once, and what is sent; by hand */
#define MORE_FILES 2u             /* recording goes on when so many times as many can be made */
#define STEP_S 60                 /* a clock that jumps further was set */
#define AGES_REST 600000000000ull /* after that nothing goes by its age: it may be set back soon */

static bool is_written(void *ctx, const char *service, const char *file)
{
	const struct daemon *d = ctx;
	char name[KEEPER_NAME + 20];

	for (size_t i = 0; i < d->recorder_count; i++) {
		const struct recorder *r = &d->recorders[i];
		size_t n = strlen(r->name);

		if (r->pid <= 0 || strcmp(r->folder, service) || strncmp(file, r->name, n) || file[n] != '.')
			continue;
		snprintf(name, sizeof(name), "%s.%06u", r->name, r->segment);
		if (strcmp(file, name) >= 0) /* its next one may be there already */
			return true;
	}
	return false;
}

/* A profile that is complete and newer than the one that was. */
static void find_latest(struct daemon *d, uint32_t service)
{
	struct service_state *s = &d->services[service];
	const struct kept_file *latest = NULL;

	for (size_t i = 0; i < d->keeper.count; i++) { /* by time */
		const struct kept_file *f = &d->keeper.files[i];

		if (!f->open && !f->goes && !strcmp(d->keeper.folders[f->folder], d->c.services[service].name))
			latest = f;
	}
	if (!latest || strlen(latest->name) >= sizeof(s->last) || !strcmp(s->last, latest->name))
		return;
	snprintf(s->last, sizeof(s->last), "%s", latest->name);
	s->last_new = true;
}

static void sweep_now(struct daemon *d)
{
	uint64_t removed = d->keeper.removed, refused = d->keeper.refused, now = clock_now();
	int err = keeper_sweep(&d->keeper, &d->c, now >= d->ages_from, is_written, d);

	if (err)
		say(SAY_ERROR, "disk-unreadable", NULL,
		    "%s cannot be listed: %s; profiles are not removed until it can", d->keeper.path, strerror(-err));
	pushes_swept(d);
	for (uint32_t i = 0; i < d->c.service_count; i++)
		find_latest(d, i);
	if (d->keeper.removed > removed)
		say(SAY_INFO, "removed", NULL, "%" PRIu64 " profiles removed, the oldest; %zu are left, %.1f MB",
		    d->keeper.removed - removed, d->keeper.kept.count, (double)d->keeper.kept.bytes / 1e6);
	if (d->keeper.refused > refused)
		say(SAY_ERROR, "disk-unremovable", NULL,
		    "%" PRIu64 " profiles cannot be removed; %s and what is in it must belong to the daemon's user",
		    d->keeper.refused - refused, d->keeper.path);
}

/* Recorders write on where nobody can find it, and what is sent and merged was kept there, too. */
static bool has_folder(struct daemon *d)
{
	struct err e = { 0 };

	if (!keeper_gone(&d->keeper))
		return true;
	turns_end_all(d, RECORDER_DISK);
	if (keeper_again(&d->keeper, &e)) {
		if (!d->gone)
			say(SAY_ERROR, "disk-gone", NULL,
			    "%s is not the folder any more that it was: somebody removed or moved it; %s: nothing is recorded "
			    "until that is done",
			    d->keeper.path, e.text);
		d->gone = d->full = true;
		return false;
	}
	d->gone = false;
	pushes_close(d);
	pushes_open(d);
	queries_folder(d);
	say(SAY_WARN, "disk-gone", NULL,
	    "%s is not the folder any more that it was: somebody removed or moved it, and its profiles with it; it was made "
	    "or opened anew, and recording goes on there",
	    d->keeper.path);
	return true;
}

void disk_look(struct daemon *d, bool sweep)
{
	bool there = has_folder(d), read_only = there && keeper_read_only(&d->keeper);
	uint64_t space = keeper_free(&d->keeper), files = keeper_files_free(&d->keeper);

	if (!there)
		return;
	if (!read_only && (sweep || space < d->c.reserve)) {
		sweep_now(d);
		space = keeper_free(&d->keeper);
	}
	if (!d->full && read_only) {
		d->full = true;
		turns_end_all(d, RECORDER_DISK);
		say(SAY_ERROR, "disk-read-only", NULL,
		    "the file system of %s cannot be written: nothing is recorded until it can; `dmesg` tells whether it "
		    "failed, `mount -o remount,rw` has it written again",
		    d->keeper.path);
	} else if (!d->full && files < FILES_LEAST) {
		d->full = true;
		turns_end_all(d, RECORDER_DISK);
		say(SAY_ERROR, "disk-full", NULL,
		    "the file system of %s has room for %" PRIu64
		    " more files (inodes; `df -i` tells), whatever bytes are free: "
		    "nothing is recorded until there is more; remove files there that are not needed",
		    d->keeper.path, files);
	} else if (!d->full && space < d->c.reserve) {
		d->full = true;
		turns_end_all(d, RECORDER_DISK);
		say(SAY_ERROR, "disk-full", NULL,
		    "%s has %.1f MB left, less than storage.reserve (%.1f MB), with all old profiles removed: nothing is recorded "
		    "until there is more; remove something else there, or lower the reserve",
		    d->keeper.path, (double)space / 1e6, (double)d->c.reserve / 1e6);
	} else if (d->full && !read_only && files >= MORE_FILES * FILES_LEAST &&
		   space >= d->c.reserve + d->c.reserve / MORE) {
		d->full = false;
		say(SAY_NOTICE, "disk-free", NULL, "%s has %.1f MB again: recording goes on", d->keeper.path,
		    (double)space / 1e6);
	}
}

/* A profile tells when it began, and how long after that something was: wrong after a step or a sleep, so it ends. */
static void end_profiles(const struct daemon *d)
{
	for (size_t i = 0; i < d->recorder_count; i++)
		recorder_next(&d->recorders[i]);
}

void disk_look_at_clock(struct daemon *d)
{
	int64_t asleep = (int64_t)clock_ns(CLOCK_BOOTTIME) - (int64_t)clock_now(), slept = asleep - d->asleep;
	int64_t offset = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)clock_ns(CLOCK_BOOTTIME);
	int64_t step = offset - d->clock_offset;

	if (d->clock_offset && (step > STEP_S * 1000000000ll || step < -STEP_S * 1000000000ll)) {
		d->ages_from = clock_now() + AGES_REST;
		end_profiles(d);
		say(SAY_NOTICE, "clock-step", NULL,
		    "the clock was set by %+.0f s; for ten minutes no profile is removed for its age",
		    (double)step / 1e9);
	}
	if (d->clock_offset && slept > STEP_S * 1000000000ll) {
		end_profiles(d);
		say(SAY_NOTICE, "slept", NULL, "the machine was suspended for %.0f s: profiles end, and the next begin",
		    (double)slept / 1e9);
	}
	d->clock_offset = offset;
	d->asleep = asleep;
}
