// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of doctor that this machine cannot show, on processors and sysfs folders made up. */

#include "record/features.h"
#include "unit/temp_folder.h"

/* sysfs names a PMU type that no kernel has, so nothing opens: the encoding is shown, with what to do. */
TEST_WITH(skylake_without_a_pmu, new_root, remove_root)
{
	struct feature f = { .name = "pebs" };
	const struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = 85 };

	put("cpu/type", "99999");
	probe_memory_events(&f, &cpu, root, PMU_X86_INTEL);
	assert_int_equal(f.state, FEATURE_NO);
	assert_non_null(strstr(f.detail, "would be cpu loads"));
	assert_non_null(strstr(f.detail, "config=0x1cd config1=0x3"));
	assert_non_null(strstr(f.detail, "cpu stores"));
	assert_non_null(strstr(f.detail, "config=0x82d0"));
	assert_true(*f.means && *f.enable);
}

TEST_WITH(ibs_by_its_sysfs_type, new_root, remove_root)
{
	struct feature f = { .name = "ibs" };
	const struct pmu_cpu cpu = { .arch = PMU_X86_AMD, .family = 0x19, .model = 1 };

	probe_memory_events(&f, &cpu, root, PMU_X86_AMD);
	assert_int_equal(f.state, FEATURE_NO);
	assert_non_null(strstr(f.detail, "not offered"));
	assert_non_null(strstr(f.detail, "multiple of 16"));
	put("ibs_op/type", "99998");
	put("ibs_op/format/cnt_ctl", "config:19");
	f = (struct feature){ .name = "ibs" };
	probe_memory_events(&f, &cpu, root, PMU_X86_AMD);
	assert_int_equal(f.state, FEATURE_NO);
	assert_non_null(strstr(f.detail, "ibs_op memory type=99998 config=0x80000"));
	assert_true(*f.enable);
}

TEST_WITH(another_vendor, new_root, remove_root)
{
	struct feature f = { .name = "spe" };
	const struct pmu_cpu cpu = { .arch = PMU_X86_AMD, .family = 0x19, .model = 1 };

	probe_memory_events(&f, &cpu, root, PMU_ARM64);
	assert_int_equal(f.state, FEATURE_NO);
	assert_string_equal(f.detail, "not an ARM processor");
	assert_int_equal(*f.enable, 0);
}

TEST(names_are_unique_and_states_have_words)
{
	struct features f;

	features_list(&f);
	assert_true(f.count > 10);
	for (size_t i = 0; i < f.count; i++) {
		assert_ptr_equal(features_find(&f, f.f[i].name), &f.f[i]);
		assert_non_null(f.f[i].title);
	}
	assert_null(features_find(&f, "nosuch"));
	for (int s = FEATURE_UNKNOWN; s <= FEATURE_YES; s++)
		for (int t = FEATURE_UNKNOWN; t < s; t++)
			assert_string_not_equal(feature_state_str((enum feature_state)s),
						feature_state_str((enum feature_state)t));
}
