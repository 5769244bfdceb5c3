// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/wait_pace.h"

#include <math.h>

#include "util/random.h"

#define FIRST_ONE_IN 8   /* until anything is known */
#define MOST_ONE_IN 1e6  /* what a program of more switches shows is shown by one of a million, too */
#define FALLS 0.7        /* of the switches seen, from one look to the next */
#define LEAST_NS 100000. /* a second: a target that sleeps loses elapsed time, of which this is a ten-thousandth */
#define SMOOTH 0.2       /* part that the latest cost has in the recent mean */
#define STRETCH_NS 2e8   /* long beside most waits, short beside a recording */
#define PASSING 0.5      /* of what the account pays */
#define LEAST_DUTY 0.01  /* less would be a stretch in 20 s */

void wait_pace_init(struct wait_pace *p, double most_per_s, double each_ns, uint64_t seed)
{
	*p = (struct wait_pace){ .most_per_s = most_per_s,
				 .each_ns = each_ns,
				 .one_in = FIRST_ONE_IN,
				 .on = true,
				 .factor = 1,
				 .random = (seed | 1) * 0x9e3779b97f4a7c15ull };
}

void wait_pace_told(struct wait_pace *p, double told, double ns, double seconds, double pays)
{
	double seen, may;

	if (!(seconds > 0))
		return;
	if (told > 0)
		p->each_ns += SMOOTH * (ns / told - p->each_ns);
	seen = told * p->one_in / seconds;
	p->switches = fmax(seen, p->switches * FALLS);
	may = fmin(p->most_per_s, fmax(pays, LEAST_NS) / p->each_ns);
	p->one_in = (uint32_t)fmin(fmax(ceil(p->switches / may), 1), MOST_ONE_IN);
}

bool wait_pace_poll(struct wait_pace *p, uint64_t now, double passing, double pays)
{
	double duty = fmin(fmax(PASSING * fmax(pays, LEAST_NS) / passing, LEAST_DUTY), 1);

	if (p->on && !p->until && duty < 1) {
		p->until = now; /* so far all the time */
	} else if (p->until && now < p->until) {
		return false;
	} else if (p->on && !p->until) {
		return false;
	}
	if (!p->on) { /* this gap was drawn by the duty of then, so is the stretch's factor */
		p->on = true;
		p->until = now + (uint64_t)STRETCH_NS;
		return true;
	}
	if (!(duty < 1)) { /* it is cheap now: the stretch goes on */
		p->factor = 1;
		p->until = 0;
		return true;
	}
	/* a law without memory: a recording may begin and end anywhere in a gap */
	p->on = false;
	p->factor = 1 / duty;
	p->until = now + (uint64_t)(-log(random_unit(&p->random)) * STRETCH_NS * (1 / duty - 1));
	return true;
}
