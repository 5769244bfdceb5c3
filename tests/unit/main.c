// SPDX-License-Identifier: GPL-2.0-or-later
/* main() of every unit test that has none: all tests of its file, or those whose name fits a pattern. */
#include "unit/unit.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return RUN_TESTS(NULL, NULL);
}
