// SPDX-License-Identifier: GPL-2.0-or-later
/* The daemon's configuration, its choice of processes, what it keeps, and what each service may cost. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/said.h"
#include "daemon/clients.h"
#include "daemon/config.h"
#include "daemon/figures.h"
#include "daemon/keeper.h"
#include "daemon/memory.h"
#include "daemon/pace.h"
#include "daemon/query.h"
#include "daemon/recorder.h"
#include "daemon/retention.h"
#include "daemon/say.h"
#include "daemon/watched.h"
#include "unit/unit.h"
#include "util/labels.h"

/* ---- configuration */

static struct daemon_config taken(const char *text)
{
	struct daemon_config c;
	AUTO_BUF(errors);
	unsigned n = config_parse(text, strlen(text), &c, &errors);

	if (n)
		print_error("%.*s", (int)errors.len, errors.data);
	assert_int_equal(n, 0);
	return c;
}

static void refused(const char *text, const char *want)
{
	struct daemon_config c;
	AUTO_BUF(errors);

	assert_true(config_parse(text, strlen(text), &c, &errors) > 0);
	buf_addch(&errors, 0);
	if (!strstr(errors.data, want))
		print_error("%s lacks %s\n", errors.data, want);
	assert_non_null(strstr(errors.data, want));
	assert_null(c.services);
}

TEST(defaults_are_those_of_the_example)
{
	struct daemon_config c = taken("services: {a: {name: x}}"), d;
	AUTO_BUF(text);

	config_example(&text);
	d = taken(text.data);
	assert_string_equal(c.folder, "/var/lib/accperf");
	assert_true(c.segment_time == 600 && c.keep_age == 7 * 86400.0 && c.scan == 2);
	assert_true(c.segment_size == 16 << 20 && c.keep_size == 1 << 30 && c.reserve == 1 << 30);
	assert_true(c.budget == 0.01 && c.memory == 64 << 20 && c.daily == 47 << 20);
	assert_true(c.services[0].min_age == 10 && c.services[0].weight == 1);
	assert_string_equal(c.services[0].effort, "low");
	assert_true(d.segment_time == c.segment_time && d.reserve == c.reserve && d.budget == c.budget);
	config_release(&c);
	config_release(&d);
}

TEST(lists_and_units_are_taken)
{
	struct daemon_config c = taken("storage:\n  keep_age: 90s\n  segment_size: 100000\nlimits:\n  budget: 0.5%\n"
				       "  scan: 250ms\nservices:\n  a-1:\n    pid: [12, 3]\n    name: 'ng*'\n"
				       "    cgroup:\n    - /a\n    - \"*b\"\n    weight: 2.5\n");

	assert_true(c.keep_age == 90 && c.segment_size == 100000 && c.budget == 0.005 && c.scan == 0.25);
	assert_int_equal(c.services[0].pids.count, 2);
	assert_string_equal(c.services[0].pids.items[1], "3");
	assert_string_equal(c.services[0].names.items[0], "ng*");
	assert_string_equal(c.services[0].cgroups.items[1], "*b");
	assert_true(c.services[0].weight == 2.5);
	config_release(&c);
}

TEST(what_is_wrong_has_its_place)
{
	char deep[3000] = "services: ";

	refused("", "1:1: the file is empty");
	refused("services", "1:1: this is no list of keys");
	refused("services: {}", "1:1: no service");
	refused("services:\n  a: {name: x}\nlimits: {memory: 1}", "3:18: memory must lie between 32M and 1T");
	refused("limits: {budget: 101%}\nservices: {a: {name: x}}", "1:18: budget must lie between 0.01% and 100%");
	refused("limits: {budget: 1}\nservices: {a: {name: x}}", "1:18: budget wants a share");
	refused("limits: {scan: -1s}\nservices: {a: {name: x}}", "1:16: scan wants a time");
	refused("limits: {scan: nan}\nservices: {a: {name: x}}", "1:16: scan wants a time");
	refused("limits: {scan: 1e999s}\nservices: {a: {name: x}}", "1:16: scan ");
	refused("services: {a: {}}", "1:12: service 'a' says of no process");
	refused("services: {a: {pid: 1.5}}", "1:21: pid wants the number of a process");
	refused("services: {a: {pid: []}}", "1:21: pid wants at least one");
	refused("services: {a: {name: x}, a: {name: y}}", "1:26: service 'a' is there twice");
	refused("services: {../a: {name: x}}", "1:12: a service's name is a folder's");
	refused("services: {a: {name: x, effort: lo}}", "1:33: effort must be one of low|default|high, not 'lo'");
	refused("services: {a: {name: x, efort: low}}", "did you mean 'effort'?");
	refused("storage: {segment_size: 2G}\nservices: {a: {name: x}}", "segment_size must not exceed keep_size");
	refused("http: {listen: \"0.0.0.0:80\"}\nservices: {a: {name: x}}", "1:16: other machines reach 0.0.0.0:80");
	refused("http: {listen: \"[::]:80\"}\nservices: {a: {name: x}}", "1:16: other machines reach");
	refused("http: {listen: \"0.0.0.0:80\", token_file: /t}\nservices: {a: {name: x}}", "tls_cert and tls_key");
	refused("http: {tls_key: /t}\nservices: {a: {name: x}}", "tls_cert and http.tls_key go together");
	refused("http: {listen: localhost:80}\nservices: {a: {name: x}}", "1:16: listen wants an address and a port");
	refused("fleet: {otlp: https://a:1}\nservices: {a: {name: x}}", "1:15: otlp wants http://HOST:PORT");
	refused("fleet: {pyroscope: \"http://a:1/?x\"}\nservices: {a: {name: x}}", "1:20: pyroscope wants http://");
	refused("a: \x01", "this is not YAML");
	refused("services: {a: {name: x}}\n? [b]\n: 3\n", "a key is one word");
	refused("services: &s\n  a: *s\n", "there is no key 'a' in service 'a'");
	memset(deep + strlen(deep), '[', sizeof(deep) - strlen(deep) - 1);
	refused(deep, "1:211: brackets are 200 deep here");
}

TEST(addresses_are_numbers)
{
	static const char *const wrong[] = {
		"",       "127.0.0.1",      "127.0.0.1:",      "127.0.0.1:65536", "127.0.0.1:1x",
		"::1:80", "[127.0.0.1]:80", "[::1:80",         "[]:80",           "a:80",
		":80",    "127.0.0.1:-1",   "127.0.0.1:000080"
	};
	struct sockaddr_storage at;
	bool loopback;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(config_address(wrong[i], &at, &loopback));
	assert_true(config_address("127.0.0.2:80", &at, &loopback) && loopback);
	assert_true(config_address("[::1]:65535", &at, &loopback) && loopback);
	assert_true(config_address("10.0.0.1:1", &at, &loopback) && !loopback);
	assert_true(config_address("[fe80::1]:1", &at, &loopback) && !loopback);
}

TEST(errors_without_end_are_cut)
{
	struct daemon_config c;
	AUTO_BUF(text);
	AUTO_BUF(errors);

	for (int i = 0; i < 100; i++)
		buf_addf(&text, "k%d: 1\n", i);
	assert_int_equal(config_parse(text.data, text.len, &c, &errors), 100);
	buf_addch(&errors, 0);
	assert_non_null(strstr(errors.data, "and 80 more\n"));
}

TEST(a_service_is_the_same_by_all_its_keys)
{
	struct daemon_config a = taken("services: {a: {name: [x, y]}}"), b = taken("services: {a: {name: [x, y]}}"),
			     c = taken("services: {a: {name: [x, y], weight: 2}}"),
			     d = taken("services: {a: {name: x}}");

	assert_true(config_same_service(&a.services[0], &b.services[0]));
	assert_false(config_same_service(&a.services[0], &c.services[0]));
	assert_false(config_same_service(&a.services[0], &d.services[0]));
	config_release(&a);
	config_release(&b);
	config_release(&c);
	config_release(&d);
}

/* ---- whose a process is */

TEST(the_first_service_that_takes_it_has_it)
{
	struct daemon_config c = taken("services:\n"
				       "  one: {pid: 7}\n"
				       "  two: {name: 'ng?nx', cgroup: '*/web/*'}\n"
				       "  three: {name: [nginx, java]}\n"
				       "  four: {cgroup: '/kubepods*'}\n");
	struct watched_traits t = { .pid = 7, .comm = "nginx", .program = "", .cgroup = "/a/web/b" };

	assert_int_equal(watched_service_of(&c, &t), 0);
	t.pid = 8;
	assert_int_equal(watched_service_of(&c, &t), 1);
	t.cgroup = "/a/web";
	assert_int_equal(watched_service_of(&c, &t), 2);
	t.comm = "main";
	t.program = "java"; /* threads may be called otherwise than the file */
	assert_int_equal(watched_service_of(&c, &t), 2);
	t.program = "";
	assert_int_equal(watched_service_of(&c, &t), WATCHED_NONE);
	t.cgroup = "/kubepods.slice/pod/x";
	assert_int_equal(watched_service_of(&c, &t), 3);
	config_release(&c);
}

/* ---- what is kept */

#define S 1000000000ll
static struct retention all_is_well(void)
{
	return (struct retention){
		.age = 100, .total = 1000, .reserve = 500, .now = 1000 * S, .free = 500, .ages = true
	};
}

TEST(the_oldest_go_first)
{
	struct kept_file f[] = { { .time = 990 * S, .bytes = 600 },
				 { .time = 950 * S, .bytes = 300 },
				 { .time = 970 * S, .bytes = 200 } };
	struct retention r = all_is_well();
	struct retained d = retention_choose(&r, f, 3);

	assert_int_equal(f[0].time, 950 * S);
	assert_true(f[0].goes && !f[1].goes && !f[2].goes);
	assert_true(d.gone == 1 && d.gone_bytes == 300 && d.count == 2 && d.bytes == 800 && !d.full);
}

TEST(age_counts_only_with_a_clock)
{
	struct kept_file f[] = { { .time = 899 * S, .bytes = 1 }, { .time = 901 * S, .bytes = 1 } };
	struct retention r = all_is_well();

	retention_choose(&r, f, 2);
	assert_true(f[0].goes && !f[1].goes);
	r.ages = false;
	retention_choose(&r, f, 2);
	assert_true(!f[0].goes && !f[1].goes);
	r.ages = true;
	r.now = 0; /* the clock was set back: all of them are of the future */
	retention_choose(&r, f, 2);
	assert_true(!f[0].goes && !f[1].goes);
}

TEST(the_reserve_takes_what_is_complete)
{
	struct kept_file f[] = { { .time = 901 * S, .bytes = 100, .open = true },
				 { .time = 902 * S, .bytes = 100 },
				 { .time = 903 * S, .bytes = 100 } };
	struct retention r = all_is_well();
	struct retained d;

	r.free = 401;
	d = retention_choose(&r, f, 3);
	assert_true(!f[0].goes && f[1].goes && !f[2].goes && !d.full);
	r.free = 200;
	d = retention_choose(&r, f, 3);
	assert_true(!f[0].goes && f[1].goes && f[2].goes && d.full);
	assert_false(retention_choose(&(struct retention){ 0 }, NULL, 0).full);
}

TEST(only_our_files_are_ours)
{
	assert_true(keeper_is_ours("20261125T220838Z-1234.000001"));
	assert_true(keeper_is_ours("20261125T220838Z-1234.1000001"));
	assert_false(keeper_is_ours("20261125T220838Z-1234.00001"));
	assert_false(keeper_is_ours("20261125T220838Z-1234.000001.old"));
	assert_false(keeper_is_ours("20261125T220838Z-1234"));
	assert_false(keeper_is_ours("20261125T220838Z-.000001"));
	assert_false(keeper_is_ours("accperf.data"));
	assert_false(keeper_is_ours(""));
}

/* ---- the log */

/* One that begins each second, for a day: some lines an hour, though each names another process. */
TEST(what_comes_each_second_is_not_said_each_second)
{
	struct said slots[SAID_SLOTS] = { { 0 } };
	unsigned lines = 0;
	char text[60];

	for (unsigned i = 1; i <= 86400; i++) {
		snprintf(text, sizeof(text), "recording process %u", i);
		lines += !said_enough(slots, i * SECOND) && !said_lately(slots, said_hash(text, true), i * SECOND);
	}
	assert_int_equal(lines, 24 * SAID_SLOTS);
	assert_true(said_lately(slots, said_hash(text, true), 86401 * SECOND) || said_enough(slots, 86401 * SECOND));
	assert_true(said_hash("in 12 s", false) == said_hash("in 9 s", false));
	assert_true(said_hash("in 12 s", true) != said_hash("in 9 s", true));
}

/* ---- memory */

static int make_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries)
{
	union bpf_attr a = { .map_type = type, .key_size = key, .value_size = value, .max_entries = entries };

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a));
}

/* Maps count once, however many descriptors they have; rings are in the process's memory where it has mapped them. */
TEST(maps_in_the_kernel_count)
{
	uint64_t before = memory_in_kernel(getpid()), with;
	int fd = make_map(BPF_MAP_TYPE_HASH, 8, 64, 20000), again, ring;

	if (fd < 0)
		skip();
	with = memory_in_kernel(getpid()) - before;
	assert_in_range(with, 20000 * 72, 20000 * 72 * 4);
	again = dup(fd);
	ring = make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20);
	assert_int_equal(memory_in_kernel(getpid()) - before, with);
	close(fd);
	close(again);
	close(ring);
	assert_int_equal(memory_in_kernel(getpid()), before);
	assert_true(memory_of(getpid()) > 100 << 10);
}

/* ---- figures of a profile */

TEST(the_top_is_ten_and_the_rest)
{
	struct figures f;
	AUTO_BUF(text);

	buf_addstr(
		&text,
		"{\"samples\": 7, \"lost\": null, \"duration_ns\": 2e9, \"cost\": {\"target_slowdown\": null}, \"functions\": [");
	for (int i = 0; i < 30; i++) /* 3, 10, 17 ... of 31: each of 1 to 30 but 27, and a 0 */
		buf_addf(&text, "%s{\"name\": \"f%d\", \"object\": \"o\", \"self\": %d}", i ? "," : "",
			 (i * 7 + 3) % 31, (i * 7 + 3) % 31);
	buf_addstr(&text, "]}");
	assert_int_equal(figures_take(&f, FIGURES_REPORT, text.data, text.len), 0);
	assert_true(f.known[FIGURES_REPORT] && !f.known[FIGURES_FLOW]);
	assert_true(f.samples == 7 && f.lost != f.lost && f.seconds == 2 && f.slowdown != f.slowdown);
	assert_int_equal(f.top[FIGURES_FUNCTIONS].count, FIGURES_TOP);
	assert_string_equal(f.top[FIGURES_FUNCTIONS].at[0].name[0], "f30");
	assert_string_equal(f.top[FIGURES_FUNCTIONS].at[9].name[0], "f20");
	assert_true(f.top[FIGURES_FUNCTIONS].other == 190);
	assert_int_equal(figures_take(&f, FIGURES_REPORT, "[]", 2), -EINVAL);
	assert_int_equal(figures_take(&f, FIGURES_REPORT, "{\"functions\": 1}", 16), -EINVAL);
	assert_int_equal(figures_take(&f, FIGURES_REPORT, "{", 1), -EINVAL);
}

static int taken_by(struct figures *f, enum figures_source source, const char *json)
{
	return figures_take(f, source, json, strlen(json));
}

TEST(edges_calls_fits_and_verdicts_are_bounded)
{
	const struct figures_top *edges, *calls, *fits, *verdicts;
	struct figures f;

	assert_int_equal(taken_by(&f, FIGURES_REPORT, "{\"duration_ns\": 2e9, \"functions\": []}"), 0);
	assert_int_equal(taken_by(&f, FIGURES_FLOW,
				  "{\"trust\": {\"mark\": \"weak\"}, \"samples\": {\"loads\": 6}, \"edges\": ["
				  "{\"producer\": \"a\", \"consumer\": \"b\", \"share\": 0.5, \"bytes\": 100},"
				  "{\"producer\": \"c\", \"consumer\": \"d\", \"share\": 0.3, \"bytes\": null},"
				  "{\"producer\": \"a\", \"consumer\": \"b\", \"share\": 0.1, \"bytes\": 20},"
				  "{\"producer\": \"e\", \"consumer\": \"f\", \"share\": 0.009}, {\"share\": null}]}"),
			 0);
	edges = &f.top[FIGURES_EDGES];
	assert_int_equal(edges->count, 2);
	assert_true(edges->at[0].v[OF_EDGE_SHARE] == 0.6 && edges->at[0].v[OF_EDGE_RATE] == 60); /* of one name */
	assert_true(edges->at[1].v[OF_EDGE_RATE] != edges->at[1].v[OF_EDGE_RATE]);
	assert_true(edges->other == 0.009); /* below the floor */
	assert_true(f.loads == 6 && f.windows != f.windows);
	assert_string_equal(f.trust[FIGURES_FLOW], "weak");
	assert_int_equal(
		taken_by(
			&f, FIGURES_OFFLOAD,
			"{\"calls\": [{\"api\": \"z\", \"name\": \"deflate\", \"calls\": 8, \"time_ns\": {\"mean\": 5e8}}],"
			"\"verdicts\": [{\"api\": \"z\", \"accelerated_calls\": 8, \"params\": {\"o\": 1000, \"A\": null}},"
			"{\"api\": \"y\", \"accelerated_calls\": 8, \"params\": null}]}"),
		0);
	calls = &f.top[FIGURES_CALLS];
	fits = &f.top[FIGURES_FITS];
	assert_true(calls->count == 1 && calls->at[0].v[OF_CALLS_RATE] == 4 && calls->at[0].v[OF_CALLS_MEAN] == 0.5);
	assert_true(calls->at[0].v[OF_CALLS_CPU] != calls->at[0].v[OF_CALLS_CPU]);
	assert_true(fits->count == 1 && fits->at[0].v[OF_FIT_O] > 0.9e-6 && fits->at[0].v[OF_FIT_O] < 1.1e-6);
	assert_int_equal(
		taken_by(
			&f, FIGURES_ADVISE,
			"{\"candidates\": [{\"name\": \"f\", \"options\": [{\"verdict\": \"offload\", \"accelerator\": \"x\","
			"\"process_speedup\": {\"value\": 2, \"low\": 1, \"high\": 3}}]}, {\"name\": \"g\", \"options\": []},"
			"{\"name\": \"h\"}]}"),
		0);
	verdicts = &f.top[FIGURES_VERDICTS];
	assert_int_equal(verdicts->count, 2);
	assert_string_equal(verdicts->at[0].name[0], "none");
	assert_true(verdicts->at[0].v[0] == 2 && verdicts->at[1].v[0] == 1);
	assert_int_equal(f.top[FIGURES_GAINS].count, 1);
	assert_true(f.top[FIGURES_GAINS].at[0].v[OF_GAIN_HIGH] == 3);
	/* another profile: nothing of the last is left */
	assert_int_equal(taken_by(&f, FIGURES_REPORT, "{\"functions\": []}"), 0);
	assert_true(!f.known[FIGURES_FLOW] && !f.top[FIGURES_EDGES].count && !*f.trust[FIGURES_FLOW]);
}

/* A function's calls at several levels of compression are as many series. */
TEST(levels_have_series_of_their_own)
{
	const struct figures_top *calls, *gains;
	struct figures f;

	assert_int_equal(taken_by(&f, FIGURES_REPORT, "{\"duration_ns\": 1e9, \"functions\": []}"), 0);
	assert_int_equal(
		taken_by(
			&f, FIGURES_OFFLOAD,
			"{\"calls\": [{\"api\": \"z\", \"name\": \"deflate\", \"level\": 1, \"calls\": 8,"
			"\"bytes_in_estimate\": 80}, {\"api\": \"z\", \"name\": \"deflate\", \"level\": 6, \"calls\": 4,"
			"\"bytes_in_estimate\": 10}, {\"api\": \"z\", \"name\": \"deflate\", \"level\": null, \"calls\": 2,"
			"\"bytes_in_estimate\": 5}]}"),
		0);
	calls = &f.top[FIGURES_CALLS];
	assert_int_equal(calls->count, 3);
	assert_string_equal(calls->at[0].name[1], "deflate, level 1");
	assert_string_equal(calls->at[1].name[1], "deflate, level 6");
	assert_string_equal(calls->at[2].name[1], "deflate");
	assert_true(calls->at[0].v[OF_CALLS_IN] == 80 && calls->at[2].v[OF_CALLS_IN] == 5);
	assert_int_equal(
		taken_by(
			&f, FIGURES_ADVISE,
			"{\"candidates\": [{\"name\": \"f\", \"level\": -5, \"options\": [{\"verdict\": \"offload\", \"accelerator\": \"x\","
			"\"process_speedup\": {\"value\": 2}}]}, {\"name\": \"f\", \"level\": 9, \"options\": [{\"verdict\": \"offload\","
			"\"accelerator\": \"x\", \"process_speedup\": {\"value\": 3}}]}]}"),
		0);
	gains = &f.top[FIGURES_GAINS];
	assert_true(gains->count == 2 && gains->at[0].v[OF_GAIN_PROCESS] == 3);
	assert_string_equal(gains->at[1].name[0], "f, level -5");
}

TEST(labels_and_values_are_openmetrics)
{
	AUTO_BUF(out);

	figures_label("a\"b\\c\n\xff", &out);
	figures_value(0.0 / 0.0, &out);
	figures_value(0.25, &out);
	assert_string_equal(out.data, "a\\\"b\\\\c??NaN0.25");
}

/* ---- the log */

TEST(a_line_is_json)
{
	AUTO_BUF(line);

	say_json(SAY_WARN, "push", "web", "a \"b\" \x1b[31m\nc", 1234567890123456789, &line);
	assert_string_equal(
		line.data,
		"{\"time\":\"2009-02-13T23:31:30.123Z\",\"level\":\"warn\",\"event\":\"push\",\"service\":\"web\","
		"\"msg\":\"a \\\"b\\\" ?[31m?c\"}\n");
}

TEST(a_line_is_logfmt)
{
	AUTO_BUF(line);

	say_line(SAY_WARN, "recorder", "web", "a \"b\" \\ \n\033[31m", &line);
	assert_string_equal(line.data, "level=warn event=recorder service=web msg=\"a \\\"b\\\" \\\\ ??[31m\"\n");
	buf_clear(&line);
	say_line(SAY_INFO, "started", NULL, "", &line);
	assert_string_equal(line.data, "level=info event=started msg=\"\"\n");
}

/* ---- what is asked */

#define S_NS 1000000000ll

TEST(moments_are_read_or_refused)
{
	static const char *const wrong[] = { "",
					     "now+1h",
					     "-1",
					     "-1w",
					     "-h",
					     "12345678901",
					     "1.5",
					     "2026-11-26",
					     "2026-02-30T00:00:00Z",
					     "2026-11-26T05:00:00",
					     "-999999999d",
					     "now-",
					     " 1",
					     "20261126T240000Z",
					     "0x10" };
	const int64_t now = 1764133200 * S_NS;
	int64_t ns;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (query_moment(wrong[i], now, &ns))
			fail_msg("'%s' was taken", wrong[i]);
	assert_true(query_moment("now", now, &ns) && ns == now);
	assert_true(query_moment("now-2h", now, &ns) && ns == now - 7200 * S_NS);
	assert_true(query_moment("-90s", now, &ns) && ns == now - 90 * S_NS);
	assert_true(query_moment("1764133200", now, &ns) && ns == now);
	assert_true(query_moment("2025-11-26T05:00:00Z", now, &ns) && ns == now);
	assert_true(query_moment("20251126T050000Z", now, &ns) && ns == now);
}

static const char *read_query(enum query_kind kind, const char *from, const char *to, struct query *q)
{
	struct query_arg args[] = { { "service", "a" }, { "from", from }, { "to", to } };

	return query_read(kind, args, 3, 1000000 * S_NS, q);
}

TEST(questions_have_times_and_no_other_words)
{
	struct query_arg twice[] = { { "from", "-1h" }, { "from", "-2h" } }, odd[] = { { "base_from", "-1h" } },
			 long_name[] = { { "service", "a-name-that-is-longer-than-any-service-may-have" } };
	struct query q;

	assert_null(query_read(QUERY_FLOW, NULL, 0, 1000000 * S_NS, &q));
	assert_true(q.latest && !*q.service);
	assert_null(read_query(QUERY_DIFF, "-10m", "", &q));
	assert_true(!q.latest && q.of.to == 1000000 * S_NS && q.base.to == q.of.from && q.base.from == 998800 * S_NS);
	assert_non_null(read_query(QUERY_PPROF, "-1h", "-2h", &q));
	assert_null(read_query(QUERY_PPROF, "0", "", &q)); /* 11 days */
	assert_non_null(read_query(QUERY_PPROF, "-32d", "", &q));
	assert_non_null(query_read(QUERY_DIFF, twice, 2, 1, &q));
	assert_non_null(query_read(QUERY_FLOW, odd, 1, 1000000 * S_NS, &q));
	assert_null(query_read(QUERY_DIFF, odd, 1, 1000000 * S_NS, &q));
	assert_non_null(query_read(QUERY_FLOW, long_name, 1, 1, &q));
}

TEST(profiles_begin_where_others_end)
{
	static const struct query_profile all[] = {
		{ "20251126T050000Z-7.000001", 1764133800 * S_NS, false },
		{ "20251126T050000Z-7.000002", 1764134400 * S_NS, false },
		{ "20251126T050000Z-77.000003", 1764134400 * S_NS, false },
	};

	assert_true(query_began(all, 3, 0, 600 * S_NS) == 1764133200 * S_NS);
	assert_true(query_began(all, 3, 1, 600 * S_NS) == 1764133800 * S_NS);
	assert_true(query_began(all, 3, 2, 600 * S_NS) == 1764133800 * S_NS); /* the one before was removed */
}

TEST(a_client_that_asks_too_much_waits_alone)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = 1 }, b = a;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 }, same = six;
	static struct clients c;
	uint64_t now = S_NS;

	b.sin_addr.s_addr = 2;
	for (int i = 0; i < 10; i++)
		assert_true(clients_may(&c, (struct sockaddr *)&a, 1, 10, 2, now));
	assert_false(clients_may(&c, (struct sockaddr *)&a, 1, 10, 2, now));
	assert_true(clients_may(&c, (struct sockaddr *)&b, 10, 10, 2, now));
	assert_true(clients_may(&c, (struct sockaddr *)&a, 2, 10, 2, now + S_NS));
	assert_false(clients_may(&c, (struct sockaddr *)&a, 1, 10, 2, now + S_NS));
	six.sin6_addr.s6_addr[0] = same.sin6_addr.s6_addr[0] = 0x20;
	same.sin6_addr.s6_addr[15] = 9; /* of one network */
	assert_true(clients_may(&c, (struct sockaddr *)&six, 10, 10, 2, now));
	assert_false(clients_may(&c, (struct sockaddr *)&same, 1, 10, 2, now));
	for (uint32_t i = 0; i < 2 * CLIENTS; i++) {
		a.sin_addr.s_addr = 100 + i;
		assert_true(clients_may(&c, (struct sockaddr *)&a, 10, 10, 2, now + 2 * S_NS + i));
	}
}

/* ---- containers */

#define ID "3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a"
#define UID "0a1b2c3d-1111-2222-3333-444455556666"

TEST(a_control_group_tells_its_container)
{
	static const struct {
		const char *path, *unit, *id, *pod;
	} rows[] = {
		{ "/", "", "", "" },
		{ "/system.slice/nginx.service", "nginx.service", "", "" },
		{ "/user.slice/user@1000.service/app.slice/a.service", "a.service", "", "" },
		{ "/system.slice/docker-" ID ".scope", "", ID, "" },
		{ "/docker/" ID, "", ID, "" },
		{ "/docker/" ID "/init", "", ID, "" },
		{ "/machine.slice/libpod-" ID ".scope/container", "", ID, "" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
		  "cri-containerd-" ID ".scope",
		  "", ID, UID },
		{ "/kubepods/burstable/pod" UID "/" ID, "", ID, UID },
		{ "/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice:cri-containerd:" ID, "", ID,
		  "" },
		{ "/lxc.payload.web1/system.slice/x.service", "x.service", "web1", "" },
		{ "/lxc/web1", "", "web1", "" },
		{ "/docker-3f2a.scope", "", "", "" },
		{ "/kubepods/podzz1b2c3d-1111-2222-3333-444455556666/x", "", "", "" },
	};
	struct container c;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[400];

		/* of version 2 alone, and of either beside a plain group of the other */
		for (unsigned form = 0; form < 4; form++) {
			static const char *const before[] = { "0::", "3:cpu:/\n1:name=systemd:", "4:pids:",
							      "4:pids:/user.slice\n0::" };

			if ((form == 1 || form == 2) && !*rows[i].id)
				continue;
			snprintf(text, sizeof(text), "%s%s\n%s", before[form], rows[i].path,
				 form == 2 ? "0::/user.slice\n" : "");
			assert_string_equal(container_of_groups(text, &c), rows[i].path);
			if (strcmp(c.unit, rows[i].unit) || strcmp(c.id, rows[i].id) || strcmp(c.pod_uid, rows[i].pod))
				fail_msg("%s: '%s' '%s' '%s'", rows[i].path, c.unit, c.id, c.pod_uid);
		}
	}
}

TEST(pods_have_the_names_of_their_logs)
{
	char folder[] = "/tmp/u-daemon.XXXXXX", pod[200], odd[200];
	struct pods p = { 0 };

	assert_non_null(mkdtemp(folder));
	snprintf(pod, sizeof(pod), "%s/shop_cart-7d9_%s", folder, UID);
	snprintf(odd, sizeof(odd), "%s/odd_%s", folder, UID);
	assert_string_equal(pods_find(&p, folder, UID, 1), "");
	assert_int_equal(mkdir(pod, 0700) | mkdir(odd, 0700), 0);
	assert_string_equal(pods_find(&p, folder, UID, 2), ""); /* not again so soon */
	assert_string_equal(pods_find(&p, folder, UID, 6000000000ull), "shop/cart-7d9");
	assert_string_equal(pods_find(&p, folder, "", 7000000000ull), "");
	assert_int_equal(rmdir(pod) | rmdir(odd) | rmdir(folder), 0);
	assert_string_equal(pods_find(&p, folder, UID, 20000000000ull), "shop/cart-7d9");
	pods_release(&p);
}

TEST(a_pod_and_a_container_decide_whose_it_is)
{
	struct daemon_config c = taken("services:\n  a: {pod: 'shop/*', name: x}\n  b: {container: '3f2a*'}\n"
				       "  c: {unit: 'ng*.service'}\n  d: {pod: " UID "}\n");
	struct container in = { .pod = "shop/cart", .id = "3f2b" };
	struct watched_traits t = { .comm = "x", .program = "", .cgroup = "/", .in = &in };

	assert_int_equal(watched_service_of(&c, &t), 0);
	t.comm = "y";
	assert_int_equal(watched_service_of(&c, &t), WATCHED_NONE);
	memcpy(in.id, ID, sizeof(ID));
	assert_int_equal(watched_service_of(&c, &t), 1);
	in = (struct container){ .unit = "nginx.service" };
	assert_int_equal(watched_service_of(&c, &t), 2);
	in = (struct container){ .pod_uid = UID };
	assert_int_equal(watched_service_of(&c, &t), 3);
	t.in = NULL;
	assert_int_equal(watched_service_of(&c, &t), WATCHED_NONE);
	config_release(&c);
}

TEST(what_profiles_have_in_common_is_kept)
{
	char all[LABELS_MOST] = "service=web,pod=a/b,rested=9", value[LABELS_MOST];

	labels_value(all, "pod", value);
	assert_string_equal(value, "a/b");
	labels_value(all, "po", value);
	assert_string_equal(value, "");
	labels_keep_common(all, "pod=c/d,service=web,rested=9");
	assert_string_equal(all, "service=web");
	labels_keep_common(all, "");
	assert_string_equal(all, "");
	assert_true(labels_weight("9", "/s/x.000001", 3) == 4);
	assert_true(labels_weight("9", "x.000002", 3) == 1 && labels_weight("", "x.000001", 3) == 1);
	assert_true(labels_weight("-9", "x.000001", 3) == 1 && labels_weight("9", "x.000001", 0) == 1);
	assert_true(labels_weight("1e30", "x.000001", 3) == 1 && labels_weight("9", "x", 3) == 1);
}

TEST(labels_are_words_without_commas)
{
	static const char *const good[] = { "service=web", "pod=shop/cart", "rested=1.5" },
				 *const bad[] = { "a", "=b", "a=", "A=b", "a=b,c", "a=b\n" },
				 *const twice[] = { "a=b", "a=c" };
	char out[LABELS_MOST], key[LABELS_MOST], value[LABELS_MOST];
	const char *at = out;
	struct err e = { 0 };
	AUTO_BUF(made);

	assert_int_equal(labels_join(good, 3, out, &e), 0);
	assert_string_equal(out, "service=web,pod=shop/cart,rested=1.5");
	for (unsigned i = 0; i < 3; i++) {
		assert_non_null(at = labels_next(at, key, value));
		assert_true(!strncmp(good[i], key, strlen(key)) && !strcmp(good[i] + strlen(key) + 1, value));
	}
	assert_null(labels_next(at, key, value));
	assert_null(labels_next("damaged", key, value));
	for (unsigned i = 0; i < 6; i++)
		assert_true(labels_join(&bad[i], 1, out, &e) < 0);
	assert_true(labels_join(twice, 2, out, &e) < 0);
	labels_add(&made, "unit", "a,b\n");
	assert_string_equal(made.data, "unit=a_b_");
}

/* ---- a target of samples */

/* Seconds of a simulated day in which it was recorded. */
static double simulate_day(double target, double rate, double guess, double *samples)
{
	struct pace p = { 0 };
	bool was = false;
	double recorded = 0;

	*samples = 0;
	for (int s = 0; s < 86400; s += 2) {
		bool is = pace_may(&p, target);

		if (is && !was)
			pace_begin(&p);
		pace_pass(&p, target, 2);
		if (is) {
			pace_record(&p, 2, guess);
			*samples += 2 * rate;
			recorded += 2;
		}
		if ((was && !is) || (is && s % 600 == 598)) /* a profile ends */
			pace_learn(&p, 100 * rate, 100);
		was = is;
	}
	return recorded;
}

TEST(a_service_is_steered_to_its_target)
{
	double samples;

	assert_true(simulate_day(0, 1000, 10, &samples) == 86400);
	assert_true(simulate_day(40000, 5, 10, &samples) == 86400); /* it never gives so many */
	simulate_day(40000, 100, 10, &samples);
	assert_true(samples > 0.9 * 24 * 40000 && samples < 1.1 * 24 * 40000);
	simulate_day(40000, 3000, 3300, &samples); /* a turn of 30 s alone gives 90,000 */
	assert_true(samples > 0.9 * 24 * 40000 && samples < 1.2 * 24 * 40000);
	simulate_day(40000, 100, 1000, &samples);
	assert_true(samples > 0.9 * 24 * 40000 && samples < 1.1 * 24 * 40000);
}

/* Containers that nobody is in any more are forgotten, long before there are too many: 5 a second come all day. */
TEST(places_are_those_that_somebody_is_in)
{
	struct daemon_config c = taken("services: {a: {name: '*'}}");
	struct watched w = { 0 };
	struct err e = { 0 };
	bool ours = false;

	w.places = calloc(500, sizeof(*w.places));
	assert_non_null(w.places);
	w.place_count = w.place_cap = 500;
	for (unsigned i = 0; i < 500; i++)
		snprintf(w.places[i].id, sizeof(w.places[i].id), "%064x", i);
	assert_int_equal(watched_look(&w, &c, &e), 0);
	assert_true(w.place_count > 0 && w.place_count <= w.count);
	for (size_t i = 0; i < w.count; i++) {
		assert_true(w.at[i].place == WATCHED_NONE || w.at[i].place < w.place_count);
		assert_true(w.at[i].place == WATCHED_NONE || strncmp(w.places[w.at[i].place].id, "0000", 4) != 0);
		ours |= w.at[i].pid == getpid() && w.at[i].place != WATCHED_NONE;
	}
	assert_true(ours);
	watched_release(&w);
	config_release(&c);
}

/* Nothing runs in a child that has ended, and who would record it fails: it is not there. */
TEST(what_has_ended_is_not_there)
{
	struct daemon_config c = taken("services: {a: {name: '*'}}");
	struct watched w = { 0 };
	struct err e = { 0 };
	pid_t child = fork();
	siginfo_t ended;
	bool there[2];

	if (!child)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(watched_look(&w, &c, &e), 0);
	memset(there, 0, sizeof(there));
	for (size_t i = 0; i < w.count; i++) {
		there[0] |= w.at[i].pid == getpid();
		there[1] |= w.at[i].pid == child;
	}
	assert_true(there[0]);
	assert_false(there[1]);
	waitpid(child, NULL, 0);
	watched_release(&w);
	config_release(&c);
}
