// SPDX-License-Identifier: GPL-2.0-or-later
/* What `accperf top` shows of a moment at every size of the terminal, its JSON, its keys; no terminal, no clock. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "unit/unit.h"
#include "view/text.h"
#include "view/top.h"

static const char moment[] =
	"{\"schema\":\"accperf.top/1\",\"seconds\":12,\"samples\":1000,\"lost\":2,\"cpus\":1.5,\"slowdown\":0.008,\"complete\":true,"
	"\"full_at\":12,\"note\":null,\"functions_in_all\":3,\"functions\":["
	"{\"name\":\"deflate\",\"object\":\"libz.so.1\",\"self\":0.6,\"self_low\":0.57,\"self_high\":0.63,\"inclusive\":0.7,"
	"\"samples\":600,\"in_per_s\":2500000,\"in_low\":2000000,\"in_high\":3000000,\"calls_per_s\":1200,\"calls_low\":1100,"
	"\"calls_high\":1300,\"ops_per_byte\":3.5,\"verdict\":\"offload\",\"why\":\"a device gains 3 times\"},"
	"{\"name\":\"parse\",\"object\":\"app\",\"self\":0.3,\"self_low\":0.27,\"self_high\":0.33,\"inclusive\":1,\"samples\":300,"
	"\"in_per_s\":null,\"in_share\":0.25,\"verdict\":null,\"why\":\"too small\"},"
	"{\"name\":\"\\u202eevil\\u0007\",\"object\":\"app\",\"self\":0.1,\"self_low\":0.08,\"self_high\":0.12,\"inclusive\":0.1,"
	"\"samples\":100,\"verdict\":null,\"why\":null}],"
	"\"calls\":[{\"caller\":1,\"callee\":0,\"share\":0.6,\"samples\":600},{\"caller\":7,\"callee\":0,\"share\":0.1,\"samples\":1}],"
	"\"flows\":[{\"producer\":\"parse\",\"consumer\":\"deflate\",\"share\":0.8,\"low\":0.7,\"high\":0.9,\"samples\":50,"
	"\"bytes_per_s\":null}],"
	"\"threads\":[{\"comm\":\"app\",\"pid\":7,\"tid\":7,\"share\":0.75,\"low\":0.7,\"high\":0.8,\"samples\":750},"
	"{\"comm\":\"app\",\"pid\":7,\"tid\":8,\"share\":0.25,\"low\":0.2,\"high\":0.3,\"samples\":250}]}";

static struct top_moment read_moment(void)
{
	struct top_moment m;
	struct err e = { 0 };

	assert_int_equal(top_parse(&m, moment, strlen(moment), &e), 0);
	return m;
}

static void lines_joined(struct top_lines *l, struct buf *out)
{
	assert_false(l->failed);
	for (size_t i = 0; i < l->count; i++)
		buf_addf(out, "%s\n", l->at[i].text.len ? l->at[i].text.data : "");
	top_lines_release(l);
}

/* What stands on a screen of this size. */
static char *screen(const struct top_moment *m, struct top_view *v, unsigned width, unsigned height, struct buf *out)
{
	struct top_lines l;

	buf_clear(out);
	top_draw(m, v, width, height, &l);
	lines_joined(&l, out);
	return out->data;
}

static void press(struct top_view *v, const struct top_moment *m, const char *keys)
{
	for (; *keys; keys++)
		top_key(v, m, *keys, 24);
}

TEST(json_comes_back)
{
	struct top_moment m = read_moment(), again;
	AUTO_BUF(once);
	AUTO_BUF(twice);

	assert_int_equal(m.call_count, 1); /* an index that leads nowhere is none */
	assert_true(isnan(m.functions[1].figure[TOP_IN]) && isnan(m.functions[2].figure[TOP_OPS]));
	top_json(&m, &once);
	assert_int_equal(top_parse(&again, once.data, once.len, NULL), 0);
	top_json(&again, &twice);
	assert_string_equal(once.data, twice.data);
	top_release(&again);
	assert_int_equal(top_parse(&again, "[1", 2, NULL), -EINVAL);
	assert_int_equal(top_parse(&again, "{}", 2, NULL), -EINVAL);
	top_release(&m);
}

TEST(fits_every_size)
{
	struct top_moment m = read_moment();

	for (unsigned width = 20; width <= 300; width += 7)
		for (unsigned height = 3; height <= 100; height += 5)
			for (enum top_screen s = TOP_SCREEN_FUNCTIONS; s <= TOP_SCREEN_HELP; s++) {
				struct top_view v = { .screen = s,
						      .sort = TOP_DEFAULT_SORT,
						      .chosen = "deflate",
						      .chosen_object = "libz.so.1" };
				struct top_lines l;

				top_draw(&m, &v, width, height, &l);
				assert_true(l.count <= height);
				for (size_t i = 0; i < l.count; i++)
					assert_true(!l.at[i].text.len || text_columns(l.at[i].text.data) <= width);
				top_lines_release(&l);
			}
	top_release(&m);
}

TEST(narrow_and_wide)
{
	struct top_moment m = read_moment();
	struct top_view v = { .sort = TOP_DEFAULT_SORT };
	AUTO_BUF(b);
	char *text = screen(&m, &v, 80, 24, &b);

	assert_non_null(strstr(text, "SELFv"));
	assert_non_null(strstr(text, "57.0-63.0"));
	assert_non_null(strstr(text, "VERDICT"));
	assert_null(strstr(text, "OBJECT"));
	assert_non_null(strstr(text, "offload"));
	assert_non_null(strstr(text, "2.5M"));
	assert_non_null(strstr(text, "25.0%")); /* a share where the amount is not known */
	assert_non_null(strstr(text, "no"));
	assert_non_null(strstr(text, "?evil?"));
	assert_non_null(strstr(screen(&m, &v, 300, 100, &b), "OBJECT"));
	assert_non_null(strstr(screen(&m, &v, 40, 8, &b), "too small"));
	top_release(&m);
}

TEST(keys_sort_and_filter)
{
	struct top_moment m = read_moment();
	struct top_view v = { .sort = TOP_DEFAULT_SORT };
	AUTO_BUF(b);
	char *text;

	press(&v, &m, "r");
	text = screen(&m, &v, 120, 24, &b);
	assert_true(strstr(text, "evil") < strstr(text, "deflate"));
	press(&v, &m, "r/LIBZ\n");
	text = screen(&m, &v, 120, 24, &b);
	assert_non_null(strstr(text, "deflate"));
	assert_null(strstr(text, "parse"));
	press(&v, &m, "/x\n");
	assert_non_null(strstr(screen(&m, &v, 120, 24, &b), "no function with 'LIBZx'"));
	press(&v, &m, "\033");
	assert_non_null(strstr(screen(&m, &v, 120, 24, &b), "parse"));
	/* what is unknown is last in either order */
	for (int i = 0; i < 20 && !strstr(screen(&m, &v, 120, 24, &b), "CALLS/sv"); i++)
		press(&v, &m, "s");
	text = screen(&m, &v, 120, 24, &b);
	assert_true(strstr(text, "deflate") < strstr(text, "parse"));
	press(&v, &m, "r");
	text = screen(&m, &v, 120, 24, &b);
	assert_true(strstr(text, "deflate") < strstr(text, "parse"));
	top_release(&m);
}

TEST(keys_open_and_leave)
{
	struct top_moment m = read_moment();
	struct top_view v = { .sort = TOP_DEFAULT_SORT };
	AUTO_BUF(b);
	char *text;

	press(&v, &m, "\n");
	text = screen(&m, &v, 100, 40, &b);
	assert_non_null(strstr(text, "called by"));
	assert_non_null(strstr(text, "600 samples  parse"));
	assert_non_null(strstr(text, "80.0% (70.0-90.0)  50 samples  parse"));
	assert_non_null(strstr(text, "offload: a device gains 3 times"));
	assert_non_null(strstr(text, "1.2K/s  (1.1K to 1.3K)"));
	press(&v, &m, "\033");
	top_key(&v, &m, TOP_KEY_DOWN, 24);
	press(&v, &m, "\r");
	assert_non_null(strstr(screen(&m, &v, 100, 40, &b), "no candidate: too small"));
	press(&v, &m, "t");
	assert_non_null(strstr(screen(&m, &v, 100, 40, &b), "TID"));
	press(&v, &m, "p");
	text = screen(&m, &v, 100, 40, &b);
	assert_non_null(strstr(text, "100.0%"));
	assert_null(strstr(text, "TID"));
	press(&v, &m, "p?");
	assert_non_null(strstr(screen(&m, &v, 100, 40, &b), "PgUp"));
	assert_int_equal(top_key(&v, &m, 'q', 24), TOP_QUIT);
	assert_int_equal(top_key(&v, &m, 'w', 24), TOP_SAVE);
	assert_int_equal(top_key(&v, &m, 'X', 24), TOP_NOTHING);
	top_release(&m);
}

/* The chosen function stays chosen where it stands elsewhere now. */
TEST(choice_follows)
{
	struct top_moment m = read_moment();
	struct top_view v = { .sort = TOP_DEFAULT_SORT };
	struct top_lines l;

	top_key(&v, &m, TOP_KEY_DOWN, 24);
	m.functions[1].figure[TOP_SELF] = 0.9;
	top_draw(&m, &v, 100, 24, &l);
	assert_true(l.at[3].selected);
	assert_non_null(strstr(l.at[3].text.data, "parse"));
	top_lines_release(&l);
	top_key(&v, &m, TOP_KEY_END, 24);
	assert_string_equal(v.chosen_object, "app");
	assert_int_equal(v.selected, 2);
	top_release(&m);
}

TEST(bytes_and_verdicts_stay)
{
	struct top_moment full = read_moment(), m = read_moment();

	m.complete = false;
	m.flow_count = 0;
	m.full_at = NAN;
	m.functions[0].figure[TOP_SELF] = 0.5;
	m.functions[0].figure[TOP_IN] = NAN;
	m.functions[0].verdict = NULL;
	assert_int_equal(top_complete(&m, &full), 0);
	assert_true(m.functions[0].figure[TOP_SELF] == 0.5);
	assert_true(m.functions[0].figure[TOP_IN] == 2500000);
	assert_string_equal(m.functions[0].verdict, "offload");
	assert_int_equal(m.flow_count, 1);
	assert_true(m.full_at == 12);
	top_release(&full);
	assert_string_equal(m.flows[0].producer, "parse"); /* its own */
	top_release(&m);
}
