// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/text.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "symbol/shortname.h"
#include "util/clean.h"
#include "util/grow.h"
#include "util/labels.h"
#include "util/map.h"

void text_json_whole(struct json *j, const char *key, double v)
{
	if (isnan(v) || v < 0 || v > 1.8e19)
		json_null(j, key);
	else
		json_u64(j, key, whole_number(v));
}

void text_json_labels(struct json *j, const char *key, const char *labels)
{
	char name[LABELS_MOST], value[LABELS_MOST];

	if (!labels)
		return;
	json_obj(j, key);
	while ((labels = labels_next(labels, name, value)))
		json_str(j, name, value);
	json_end(j);
}

void text_amount(struct buf *out, double bytes, unsigned columns)
{
	AUTO_BUF(b);

	if (isnan(bytes))
		buf_addch(&b, '?');
	else
		text_bytes(&b, whole_number(bytes));
	text_pad_left(out, b.data ? b.data : "", columns);
}

void text_count(struct buf *b, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_addch(b, ',');
		buf_addch(b, digits[i]);
	}
}

void text_bytes(struct buf *b, uint64_t n)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	double v = (double)n;
	unsigned u = 0;

	for (; v >= 1000 && u < 5; u++)
		v /= 1000;
	buf_addf(b, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

void text_seconds(struct buf *b, uint64_t ns)
{
	double s = (double)ns / 1e9;

	if (s < 1e-3)
		buf_addf(b, "%.0f us", s * 1e6);
	else if (s < 1)
		buf_addf(b, "%.0f ms", s * 1e3);
	else
		buf_addf(b, s < 100 ? "%.1f s" : "%.0f s", s);
}

void text_pad_left(struct buf *b, const char *s, unsigned columns)
{
	for (unsigned n = text_columns(s); n < columns; n++)
		buf_addch(b, ' ');
	buf_addstr(b, s);
}

unsigned text_columns(const char *s)
{
	unsigned columns = 0;
	bool shown;

	for (; *s; columns++)
		s += clean_char(s, &shown);
	return columns;
}

static void cut_middle(struct buf *b, const char *s, unsigned max, unsigned columns)
{
	unsigned all = text_columns(s), cut = max && all > max ? all - max : 0, done = 0;
	/* what tells names apart stands at their end as often as at their beginning */
	unsigned from = cut && max > 2 ? (max - 2) / 2 : max, left_out = cut && max > 2 ? cut + 2 : cut;

	for (unsigned at = 0; *s; at++) {
		bool shown;
		unsigned n = clean_char(s, &shown);

		if (cut && at >= from && at < from + left_out) {
			if (at == from && max > 2) {
				buf_addstr(b, "..");
				done += 2;
			}
		} else {
			if (shown)
				buf_add(b, s, n);
			else
				buf_addch(b, '?');
			done++;
		}
		s += n;
	}
	for (; done < columns; done++)
		buf_addch(b, ' ');
}

/* ---- names that are cut: each its own label ---- */

#define SHORTENED_MOST (1u << 16) /* names whose labels are remembered; then all are forgotten; by hand */
#define LABEL_TRIES 1000          /* numbers behind one beginning, until two names may look alike; by hand */
#define DIFFERS 10                /* columns around the place where a name differs from the one that has its label */

/* By width and name: what was shown for it, as long as one text is made, so that two names are never one. */
static struct {
	struct intern names, labels;  /* each after its width */
	uint32_t *label_of, *name_of; /* by id of the other; 0: none */
	uint32_t label_of_cap, name_of_cap;
} shown;

void text_names_forget(void)
{
	intern_release(&shown.names);
	intern_release(&shown.labels);
	free(shown.label_of);
	free(shown.name_of);
	memset(&shown, 0, sizeof(shown));
}

static uint32_t add_at_width(struct intern *in, uint32_t **other, uint32_t *cap, unsigned max, const char *text,
			     size_t len)
{
	uint32_t id = 0;
	AUTO_BUF(key);

	buf_add(&key, &max, sizeof(max));
	buf_add(&key, text, len);
	buf_addch(&key, 0);
	if (!buf_failed(&key))
		id = intern_add(in, key.data, key.len, NULL);
	return GROW_ZEROED(*other, (size_t)id + 1, *cap, 64) ? id : 0;
}

static uint32_t shown_name(unsigned max, const char *s)
{
	return add_at_width(&shown.names, &shown.label_of, &shown.label_of_cap, max, s, strlen(s));
}

/* False: another name has it, which is then *taken. */
static bool take_label(unsigned max, uint32_t name, const struct buf *label, const char **taken)
{
	uint32_t id = add_at_width(&shown.labels, &shown.name_of, &shown.name_of_cap, max, label->data, label->len);

	if (!id)
		return true; /* no memory: what is shown matters more */
	if (shown.name_of[id] && shown.name_of[id] != name) {
		*taken = (const char *)intern_get(&shown.names, shown.name_of[id], NULL) + sizeof(max);
		return false;
	}
	shown.name_of[id] = name;
	shown.label_of[name] = id;
	return true;
}

/* The label that another name has, cut for the place where they differ. */
static void cut_for_difference(struct buf *b, const char *s, const char *taken, const char *label, unsigned max)
{
	size_t same = 0, room = max > DIFFERS + 6 ? max - DIFFERS - 2 : max / 2, from;

	while (s[same] && s[same] == taken[same])
		same++;
	from = same > 2 ? same - 2 : 0;
	buf_addf(b, "%.*s..%.*s", (int)room, label, (int)(max - 2 - (strlen(label) < room ? strlen(label) : room)),
		 s + from);
}

static void make_label(struct buf *label, const char *s, unsigned max)
{
	char text[SHORT_NAME_MOST], first[SHORT_NAME_MOST];
	uint32_t name = shown_name(max, s);
	size_t n = short_name(s, max, text);
	const char *taken = NULL;

	/* what it comes to where there is more room says more, even without its middle */
	for (unsigned room = 2; !n && room <= 8; room *= 2)
		n = short_name(s, room * max, text);

	cut_middle(label, n ? text : s, max, 0);
	buf_addch(label, 0);
	label->len--;
	if (!name || buf_failed(label) || take_label(max, name, label, &taken))
		return;
	snprintf(first, sizeof(first), "%s", label->data);
	for (unsigned i = 0; i < LABEL_TRIES && max > 8; i++) {
		AUTO_BUF(plain);

		if (i > 1)
			snprintf(text, sizeof(text), "#%u", i);
		buf_clear(label);
		if (i == 0) {
			cut_for_difference(&plain, s, taken, first, max);
			cut_middle(label, plain.data ? plain.data : "", max, 0);
		} else if (i == 1) {
			cut_middle(label, s, max, 0);
		} else {
			cut_middle(label, first, max - (unsigned)strlen(text), 0);
			buf_addstr(label, text);
		}
		if (buf_failed(label) || take_label(max, name, label, &taken))
			return;
	}
}

void text_name(struct buf *b, const char *s, unsigned max, unsigned columns)
{
	AUTO_BUF(label);
	uint32_t name, id;

	if (!max || text_columns(s) <= max) {
		cut_middle(b, s, 0, columns);
		return;
	}
	if (shown.names.count > SHORTENED_MOST)
		text_names_forget();
	name = shown_name(max, s);
	id = name ? shown.label_of[name] : 0;
	if (id)
		buf_addstr(&label, (const char *)intern_get(&shown.labels, id, NULL) + sizeof(max));
	else
		make_label(&label, s, max);
	cut_middle(b, label.data ? label.data : "", max, columns);
}

void text_wrap(struct buf *b, const char *s, unsigned at, unsigned indent, unsigned width)
{
	bool fresh = true; /* nothing on this line yet: a word longer than the line stays whole */

	while (*s) {
		size_t n = strcspn(s, " ");
		char word[512];
		unsigned columns;

		if (n >= sizeof(word))
			n = sizeof(word) - 1;
		memcpy(word, s, n);
		word[n] = 0;
		s += n;
		columns = text_columns(word);
		if (!fresh && width && at + 1 + columns > width) {
			buf_addf(b, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!fresh) {
			buf_addch(b, ' ');
			at++;
		}
		text_name(b, word, 0, 0);
		at += columns;
		fresh = false;
		s += strspn(s, " ");
	}
	buf_addch(b, '\n');
}

void text_no_amounts(struct buf *b, double seconds, unsigned width)
{
	struct counts_speed_note note;
	AUTO_BUF(line);

	buf_addf(&line, "?: %s.", counts_speed_note(&note, seconds));
	text_wrap(b, line.data ? line.data : "", 0, 3, width);
}

void text_amounts_spread(struct buf *b, double low, double high, unsigned width)
{
	struct counts_speed_note note;
	const char *text = counts_speed_spread(&note, low, high);

	if (text)
		text_wrap(b, text, 0, 0, width);
}

static const char *const hues[] = {
	[TEXT_HOT] = "\033[31m", [TEXT_WARM] = "\033[32m", [TEXT_DIM] = "\033[2m", [TEXT_BOLD] = "\033[1m"
};

void text_hue_on(struct buf *b, const struct text_style *s, enum text_hue hue)
{
	if (s->colour && hue != TEXT_PLAIN)
		buf_addstr(b, hues[hue]);
}

void text_hue_off(struct buf *b, const struct text_style *s, enum text_hue hue)
{
	if (s->colour && hue != TEXT_PLAIN)
		buf_addstr(b, "\033[0m");
}

/* Columns of the character at s, which has *bytes: none of a colour. */
static unsigned columns_at(const char *s, size_t *bytes)
{
	bool shown_char;

	if (*s == '\033' && s[1] == '[') {
		*bytes = 2 + strspn(s + 2, "0123456789;");
		*bytes += s[*bytes] != 0;
		return 0;
	}
	*bytes = clean_char(s, &shown_char);
	return 1;
}

/* Where a line that is too wide ends: at its last blank that fits, if it has one behind `from`. */
static size_t break_of(const char *line, size_t len, size_t from, unsigned at, unsigned width)
{
	size_t blank = 0, i = 0, bytes;

	for (; i < len; i += bytes) {
		at += columns_at(line + i, &bytes);
		if (at > width)
			return blank ? blank : i;
		if (line[i] == ' ' && i > from)
			blank = i;
	}
	return len;
}

void text_fit(struct buf *out, const char *text, unsigned width)
{
	static const char blanks[] = "            ";

	while (*text) {
		size_t len = strcspn(text, "\n"), indent = strspn(text, text[0] == '#' ? "# " : " "), from = indent, n;
		unsigned at = 0, hang;
		bool comment = text[0] == '#';

		hang = (unsigned)(indent + 4);
		hang = hang < sizeof(blanks) && hang < width / 2 ? hang : 4;
		for (;;) {
			n = width ? break_of(text, len, from, at, width) : len;
			buf_add(out, text, n);
			text += n;
			len -= n;
			if (!len)
				break;
			while (len && *text == ' ')
				text++, len--;
			if (!len)
				break;
			buf_addf(out, "\n%s%.*s", comment ? "#" : "", (int)hang - comment, blanks);
			at = hang;
			from = 0;
		}
		if (*text == '\n') {
			buf_addch(out, '\n');
			text++;
		}
	}
}
