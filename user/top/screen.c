// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_MS 25 /* ms for the rest of a key's bytes; of the usual 1000, Escape alone would be slow */

static SCREEN *screen;
static struct termios found;
static const char *leave_it, *show_cursor; /* what the terminal wants to hear at the end */

/* After a fault of our own, with nothing but what a handler may do. */
static void after_a_fault(int sig)
{
	ssize_t n = 0;

	if (show_cursor)
		n += write(STDOUT_FILENO, show_cursor, strlen(show_cursor));
	if (leave_it)
		n += write(STDOUT_FILENO, leave_it, strlen(leave_it));
	tcsetattr(STDIN_FILENO, TCSANOW, &found);
	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void colours(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(TOP_HOT, COLOR_RED, -1);
	init_pair(TOP_WARM, COLOR_GREEN, -1);
}

int top_screen_open(struct err *e)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &found))
		return err_set(e, -ENOTTY, "this is no terminal; --batch prints instead");
	setlocale(LC_CTYPE, "");
	screen = term && *term ? newterm(NULL, stdout, stdin) : NULL;
	if (screen && (!cursor_address || !clear_screen)) {
		endwin();
		delscreen(screen);
		screen = NULL;
		tcsetattr(STDIN_FILENO, TCSANOW, &found);
	}
	if (!screen)
		return err_set(e, -ENOTTY, "a terminal of type '%s' cannot be drawn on; --batch prints instead",
			       term && *term ? term : "(TERM is not set)");
	leave_it = exit_ca_mode;
	show_cursor = cursor_normal;
	atexit(top_screen_close);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		signal(faults[i], after_a_fault);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	colours();
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	tcsetattr(STDIN_FILENO, TCSANOW, &found);
}

void top_screen_size(unsigned *width, unsigned *height)
{
	*width = COLS > 0 ? (unsigned)COLS : 80;
	*height = LINES > 0 ? (unsigned)LINES : 24;
}

/* Where the locale has no characters but ASCII's, others are shown as such. */
static void show_line_text(const char *s)
{
	if (MB_CUR_MAX > 1) {
		addstr(s);
		return;
	}
	for (; *s; s++)
		if (!((unsigned char)*s & 0x80))
			addch((chtype)*s);
		else if ((unsigned char)*s >= 0xc0)
			addch('?');
}

void top_screen_show(const struct top_lines *l)
{
	erase();
	for (size_t i = 0; i < l->count && (int)i < LINES; i++) {
		const struct top_line *line = &l->at[i];
		attr_t look = line->look == TOP_BOLD ? A_BOLD : line->look == TOP_DIM ? A_DIM : A_NORMAL;
		short pair = line->look == TOP_HOT || line->look == TOP_WARM ? (short)line->look : 0;

		if (line->selected)
			look |= A_REVERSE;
		attr_set(look, has_colors() ? pair : 0, NULL);
		move((int)i, 0);
		if (line->text.len)
			show_line_text(line->text.data);
	}
	attr_set(A_NORMAL, 0, NULL);
	refresh();
}

int top_screen_key(void)
{
	static const struct {
		int theirs, ours;
	} keys[] = { { KEY_UP, TOP_KEY_UP },
		     { KEY_DOWN, TOP_KEY_DOWN },
		     { KEY_PPAGE, TOP_KEY_PAGE_UP },
		     { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		     { KEY_HOME, TOP_KEY_HOME },
		     { KEY_END, TOP_KEY_END },
		     { KEY_ENTER, '\n' },
		     { KEY_BACKSPACE, TOP_KEY_BACKSPACE } };
	int c = getch();

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (c == keys[i].theirs)
			return keys[i].ours;
	return c == ERR ? -1 : c == KEY_RESIZE ? 0 : c < 256 ? c : 0;
}
