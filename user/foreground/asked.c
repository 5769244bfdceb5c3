// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/asked.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "symbol/contained_child.h"
#include "util/clock.h"

#define NAMES_NS 60000000000ull      /* between two looks: a recorder that is killed lacks the names of a minute */
#define NAMES_SOON_NS 10000000000ull /* before the end, and they wait for that; by hand */
#define NAMES_REST 100               /* as long as they took, times this: a hundredth of a CPU at most */

static bool next_asked;

bool record_asked_to_stop(int fd)
{
	struct signalfd_siginfo si;
	bool stop = false;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		next_asked |= si.ssi_signo == SIGUSR1;
		stop |= si.ssi_signo != SIGCHLD && si.ssi_signo != SIGUSR1;
	}
	return stop;
}

/* While names are sought in the midst of a recording, the first Ctrl-C is for that: it ends when they are there. */
static struct {
	bool now, heard;
} between;

static bool asked_to_hurry(int fd)
{
	bool asked = record_asked_to_stop(fd);

	if (!asked || !between.now || between.heard)
		return asked;
	between.heard = true;
	return false;
}

void record_hurry_when_asked(int fd)
{
	contained_stop_when(fd, asked_to_hurry);
}

bool record_asked_between(void)
{
	return between.heard;
}

bool record_asked_next(void)
{
	return next_asked;
}

int record_next(struct session *s, struct rotation *r, struct err *e)
{
	int err;

	next_asked = false;
	between.now = true;
	err = session_next(s, rotation_next(r), e);
	between.now = false;
	return err ? err : rotation_made(r, e);
}

static bool names_enough(void *until)
{
	return between.heard || clock_now() >= *(const uint64_t *)until;
}

/* until: when the recording ends, whatever is named by then. */
int record_name_now(struct session *s, uint64_t until, uint64_t *next, struct err *e)
{
	uint64_t now = clock_now();
	uint64_t rest;
	int err;

	/* the end names all at once, then: a file is unpacked for one address as for a thousand */
	if (until - now < NAMES_SOON_NS) {
		*next = until;
		return 0;
	}
	between.now = true;
	err = session_name(s, names_enough, &until, e);
	between.now = false;
	rest = (clock_now() - now) * NAMES_REST;
	*next = now + (rest > NAMES_NS ? rest : NAMES_NS);
	return err;
}
