// SPDX-License-Identifier: GPL-2.0-or-later
/* What a service may take of the daemon's budget and of a day's bytes, over seconds and days. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/account.h"
#include "daemon/config.h"
#include "daemon/recorder.h"
#include "unit/unit.h"
#include "util/buf.h"

/* ---- the budget */

/* What a service takes: for the first five seconds of a turn, a second after those, and when a turn has ended. */
struct takes {
	double begin, each, end;
};

/* Hours of it: the part of the time that it is recorded, what it cost a second, and the most that it ever was ahead of
 * what was earned by then. */
static double an_age(double rate, struct takes t, double *cost, double *ahead)
{
	enum { ALL = 20000 };
	struct turn_account a;
	double recorded = 0, spent = 0;
	bool on = false;

	*ahead = 0;
	account_open(&a, 1);
	for (int s = 0; s < ALL; s++) {
		bool may = account_may(&a);
		double now = on && !may ? t.end : 0;

		account_spend_late(&a, now);
		if (may && !on)
			account_begin(&a);
		on = may;
		account_earn(&a, rate, 1);
		if (on) {
			now = a.turn_s < 5 ? t.begin / 5 : t.each;
			account_spend(&a, now, 1);
			recorded++;
		}
		spent += now;
		*ahead = fmax(*ahead, spent - rate * (s + 1));
	}
	*cost = spent / ALL;
	return recorded / ALL;
}

TEST(what_fits_is_recorded_all_the_time)
{
	double cost, ahead;

	/* but for the first seconds */
	assert_true(an_age(0.1, (struct takes){ 0.6, 0.05, 0.3 }, &cost, &ahead) > 0.998);
	assert_true(cost < 0.051 && ahead <= 0);
}

TEST(what_does_not_fit_is_recorded_by_turns)
{
	double cost, ahead, part = an_age(0.02, (struct takes){ 0.6, 0.05, 0.3 }, &cost, &ahead);

	assert_true(cost <= 0.02 && cost >= 0.018);
	assert_true(part > 0.2 && part < 0.4);
	part = an_age(0.0001, (struct takes){ 3, 0.5, 0.5 }, &cost, &ahead); /* one CPU, a hundredth of a percent */
	assert_true(cost <= 0.0005 && part < 0.002);
	an_age(0.01, (struct takes){ 50, 50, 1 }, &cost, &ahead); /* something is very wrong with it */
	assert_true(cost <= 0.02);
}

/* From the first second on, not over hours alone; what is dearer than was known is seen a second later. */
TEST(nothing_is_spent_before_it_is_earned)
{
	static const double rates[] = { 0.002, 0.02, 0.3 }, each[] = { 0.01, 0.03, 0.1 }, end[] = { 0.1, 0.5, 3 };

	for (unsigned i = 0; i < 27; i++) {
		struct takes t = { each[i / 9] * 20, each[i / 9], end[i / 3 % 3] };
		double cost, ahead, first_end = fmax(0, t.end - 0.3);

		assert_true(an_age(rates[i % 3], t, &cost, &ahead) > 0);
		assert_true(ahead <= first_end + t.begin / 5 + 1e-9);
	}
}

/* What was assumed holds until a turn was seen: then others expect the dearest of those, each by its part. */
TEST(others_turns_tell_what_one_takes)
{
	struct turn_account cheap, dear, fresh, time;
	const struct turn_account *all[] = { &cheap, &dear, &fresh, &time };
	double assumed;

	account_open(&cheap, 1);
	account_open(&dear, 1);
	account_open(&fresh, 1);
	account_open(&time, ACCOUNT_TIME_PART);
	assumed = account_lacks(&fresh);
	account_learn(&fresh, all, 4);
	assert_true(account_lacks(&fresh) == assumed);
	for (struct turn_account *a = &cheap; a; a = a == &cheap ? &dear : NULL) {
		account_earn(a, 1, 1e6);
		assert_true(account_may(a));
		account_begin(a);
		for (int s = 0; s < 40;
		     s++) /* 0.3 or 0.4 s in the first five seconds, .01 or .02 in each of the others */
			account_spend(a, s < 5 ? (a == &cheap ? 0.06 : 0.08) : (a == &cheap ? 0.01 : 0.02), 1);
		account_spend(a, a->credit, 1e-9);
		assert_false(account_may(a));
		account_spend_late(a, 0.1);
	}
	account_learn(&fresh, all, 4);
	account_learn(&time, all, 4);
	assert_true(fresh.begin_cost > 0.39 && fresh.begin_cost < 0.41);
	assert_true(fabs(fresh.end_cost - 0.1) < 1e-9);
	assert_true(fabs(time.begin_cost - fresh.begin_cost * ACCOUNT_TIME_PART) < 1e-9);
	/* its own turns tell it better */
	account_learn(&cheap, all, 4);
	assert_true(cheap.begin_cost < 0.31);
}

/* One that goes mad is ended by the kernel, whatever the daemon does meanwhile. */
TEST(a_recorder_that_spins_is_ended)
{
	struct recorder r = { .said = -1, .cpu = 0 };
	int status = 0;

	r.pid = fork();
	assert_true(r.pid >= 0);
	if (!r.pid) {
		signal(SIGTERM, SIG_IGN);
		alarm(60);
		for (;;)
			;
	}
	recorder_limit(&r, 0.5);
	assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

/* On a busy machine a beginning takes four times what is known: the turn gives samples yet, is paid back, and what was
 * learned of it ends no later one before it has. */
TEST(a_dear_beginning_is_not_for_nothing)
{
	struct turn_account a;
	double spent = 0;
	unsigned turns = 0, s;
	bool on = false;

	account_open(&a, 1);
	for (s = 0; s < 3600; s++) {
		account_earn(&a, 0.0067, 1);
		if (!on && account_may(&a)) {
			account_begin(&a);
			on = true;
			turns++;
		} else if (on) {
			double now = a.turn_s < 5 ? 0.46 : 0.02;

			account_spend(&a, now, 1);
			spent += now;
			on = account_young(&a) || account_may(&a);
			assert_true(on || a.turn_s >= 15);
			if (!on) {
				account_spend_late(&a, 0.15);
				spent += 0.15;
			}
		}
	}
	assert_true(turns >= 3);
	assert_true(spent <= 3600 * 0.0067 + 1);
}

TEST(idle_time_is_saved_for_ten_minutes)
{
	struct turn_account a;

	account_open(&a, 1);
	account_earn(&a, 0.1, 1e6);
	assert_true(a.credit > 59.9 && a.credit < 60.1);
}

#define MOST_A_DAY 50e6 /* bytes, of a host with the defaults */

static double default_daily(void)
{
	static const char text[] = "services: {a: {name: x}}";
	struct daemon_config c;
	AUTO_BUF(errors);
	double daily;

	assert_int_equal(config_parse(text, sizeof(text) - 1, &c, &errors), 0);
	daily = (double)c.daily;
	config_release(&c);
	return daily;
}

/* Days of a service that writes 15 KB as a turn begins and so many bytes a second, and packs them to three quarters
 * each 20 s, after as much was saved as may be. begins: seconds after which the daemon starts anew; 0: never. What it
 * writes, and the most within one day, whenever that begins. */
static double days_bytes(double daily, double bytes, unsigned days, unsigned begins, double *most)
{
	enum { DAY = 86400 };
	struct turn_account a;
	double rate = account_disk_rate(daily), *sum = calloc(days * (size_t)DAY + 1, sizeof(*sum)), all;
	bool on = false;

	assert_non_null(sum);
	account_open_disk(&a, rate, 0);
	*most = 0;
	for (unsigned s = 0; s < DAY * days; s++) {
		unsigned lately = s > ACCOUNT_DISK_SAVED_S ? s - ACCOUNT_DISK_SAVED_S : 0;
		bool may;
		double now = 0;

		if (begins && s && s % begins == 0) {
			account_open_disk(&a, rate, sum[s] - sum[lately]);
			on = false;
		}
		may = account_may(&a);
		if (may && !on)
			account_begin(&a);
		on = may;
		account_earn(&a, rate, 1);
		if (on)
			now = a.turn_s < 1 ? 15e3 : (int)a.turn_s % 20 == 19 ? bytes - 5 * bytes : bytes;
		if (on)
			account_spend(&a, now, 1);
		sum[s + 1] = sum[s] + now;
		now = sum[s + 1] - (s >= DAY ? sum[s + 1 - DAY] : 0);
		*most = now > *most ? now : *most;
	}
	all = sum[DAY * days];
	free(sum);
	return all;
}

TEST(a_days_bytes_are_kept_to)
{
	static const double bytes[] = { 400, 1e3, 4e3, 20e3, 100e3 };
	double daily = default_daily(), most, all;

	for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		all = days_bytes(daily, bytes[i], 5, 0, &most);
		assert_true(most <= MOST_A_DAY);
		/* what fits is written without rests: three quarters of it */
		assert_true(all >= 5 * 0.9 * fmin(daily, 86400 * bytes[i] * 0.75));
		/* and a daemon that starts anew each ten minutes has no more */
		days_bytes(daily, bytes[i], 2, 600, &most);
		assert_true(most <= MOST_A_DAY);
	}
}

/* A service writes all that it may; from noon on another one comes each hour, and begins at once. */
TEST(who_comes_later_brings_no_bytes_to_a_day)
{
	enum { HOUR = 3600, SERVICES = 10 };
	struct turn_account a[SERVICES], *others[SERVICES];
	double daily = default_daily(), rate = account_disk_rate(daily), rates[SERVICES], all = 0;
	unsigned n = 0, slowest = 0, waits[SERVICES] = { 0 };
	bool on[SERVICES] = { false };

	for (unsigned s = 0; s < 24 * HOUR; s++) {
		if (!n || (n < SERVICES && s == (11 + n) * HOUR)) {
			for (unsigned i = 0; i < n; i++) {
				others[i] = &a[i];
				rates[i] = rate / (n + 1);
			}
			if (n)
				account_join_disk(&a[n], rate / (n + 1), others, rates, n);
			else
				account_open_disk(&a[n], rate, 0);
			waits[n++] = s;
		}
		for (unsigned i = 0; i < n; i++) {
			bool may = account_may(&a[i]);
			double now;

			if (may && !on[i]) {
				account_begin(&a[i]);
				slowest = waits[i] && s - waits[i] > slowest ? s - waits[i] : slowest;
				waits[i] = 0;
			}
			on[i] = may;
			account_earn(&a[i], rate / n, 1);
			if (!may)
				continue;
			now = a[i].turn_s < 1 ? 15e3 : 4e3;
			account_spend(&a[i], now, 1);
			all += now;
		}
	}
	assert_true(all > 0.9 * daily && all <= MOST_A_DAY);
	assert_true(slowest < 60);
}
