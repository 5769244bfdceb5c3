// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/on_time.h"

#include <errno.h>
#include <sys/resource.h>

#define LATE_NS 400000000ull   /* of the second that may be lost; in time it is 250 ms and a look; by hand */
#define ASKS_NS 60000000000ull /* after it was late; by hand */
#define SOONER (-10)           /* nice value. Of 16 that turn on two CPUs a sleeper waited 12 to 25 ms, 55 to 94 at 0 */

static void ask_for_cpus(struct on_time *o)
{
	errno = 0;
	o->usual = getpriority(PRIO_PROCESS, 0);
	if (errno || o->usual <= SOONER || setpriority(PRIO_PROCESS, 0, SOONER))
		o->may_not = true;
	else
		o->asks = true;
}

void on_time_begin(struct on_time *o, uint64_t now)
{
	o->until = now + ASKS_NS;
	if (!o->asks && !o->may_not)
		ask_for_cpus(o);
}

void on_time_waited(struct on_time *o, uint64_t now, uint64_t waited_ns)
{
	if (waited_ns > LATE_NS)
		on_time_begin(o, now);
	else if (o->asks && now >= o->until && !setpriority(PRIO_PROCESS, 0, o->usual))
		o->asks = false;
}
