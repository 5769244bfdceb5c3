/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the daemon's loop share. Included by user/daemon. */
#ifndef ACCPERF_DAEMON_DAEMON_PRIV_H
#define ACCPERF_DAEMON_DAEMON_PRIV_H

#include "daemon/account.h"
#include "daemon/config.h"
#include "daemon/figures.h"
#include "daemon/keeper.h"
#include "daemon/pace.h"
#include "daemon/pushes.h"
#include "daemon/queries.h"
#include "daemon/readings.h"
#include "daemon/recorder.h"
#include "daemon/said.h"
#include "daemon/say.h"
#include "daemon/watched.h"

struct service_state {
	struct turn_account account, disk;
	struct pace pace;
	uint64_t rests_since; /* its last turn ended then; 0: none has, or its processes did */
	double rate;          /* seconds of CPU time a second that it may take; 0: it does not run */
	double disk_rate;     /* bytes a second that it may write */
	double cost;          /* seconds, since the daemon began */
	uint64_t retry_at;    /* after a failure */
	unsigned failures;    /* in a row */
	int last_pid;         /* of those that its latest recorder took: the next takes those behind it */
	uint64_t young_since; /* all its processes were younger than min_age then, and ever since; 0: not so */
	uint64_t young_seen;  /* the last of these looks */
	bool waits_told;      /* that its first turn waits for the budget */
	bool crowded;         /* told to have more processes than its recorders take */
	uint64_t room_since;  /* it waits since then for memory to record in; 0: it does not */
	uint64_t most_memory; /* that a recorder of it took */
	uint64_t failed, turns;
	char last[64];                 /* its latest complete profile; "": none */
	bool last_new;                 /* not read yet */
	struct figures figures;        /* of the last that was read */
	double samples, lost;          /* of all that were read */
	uint64_t unread;               /* could not be read */
	struct said said[SAID_SLOTS];  /* what need not be said again soon */
	struct said begun[SAID_SLOTS]; /* apart: these name processes, and would push out all others */
};

struct daemon {
	const char *config_path;
	struct daemon_config c;
	struct service_state *services; /* by index in c */
	struct watched watched;
	struct keeper keeper;
	struct recorder *recorders;
	size_t recorder_count, recorder_cap;
	uint32_t next_number;
	unsigned cpus;
	struct readings readings;
	struct queries queries;
	struct pushes pushes;
	struct http *http; /* NULL: nothing is served */
	bool stopping, full, reload;
	bool gone;       /* the folder was removed, and cannot be made anew: told */
	uint64_t memory; /* of all of us */
	double own_cpu;  /* the daemon's own, as last measured */
	uint64_t measured_at;
	int64_t clock_offset; /* time of day less time since boot */
	int64_t asleep;       /* of the latter, in suspension */
	uint64_t ages_from;   /* age counts again */
	double scan_every;    /* seconds between looks for processes, which what a look takes has stretched */
	uint64_t next_scan, next_second, next_measure, next_sweep, next_watchdog;
};

/* ---- turns.c: who is recorded, and who rests */
/* Looks for processes, and starts recorders where there are new ones. */
void turns_scan(struct daemon *d);
/* Processes of a service that a recorder could take, and that none has. */
unsigned turns_unrecorded(const struct daemon *d, uint32_t service);
/* Books what was spent, and ends turns that cannot be paid; memory, too. */
void turns_measure(struct daemon *d);
/* Recorders that have ended; their lines. */
void turns_reap(struct daemon *d);
/* Files that are large enough end. */
void turns_rotate(struct daemon *d);
void turns_end_all(struct daemon *d, enum recorder_end why);
size_t turns_running(const struct daemon *d, uint32_t service);

/* ---- disk.c */
/* Removes what is too old or too much; recording rests while the reserve is not there. */
void disk_look(struct daemon *d, bool sweep);
/* Steps of the clock. */
void disk_look_at_clock(struct daemon *d);

#endif
