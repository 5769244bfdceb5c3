// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON schemas of what the files logca_*.c of this room write. */
#include "view/logca_questions.h"
#include "view/schema.h"

#define PAIRS "{\"type\":\"array\",\"items\":{\"type\":\"array\"}}"
/* What logca_json() writes of a device. */
#define FITTED "{\"type\":\"object\",\"numbers\":[\"value\",\"low\",\"high\"],\"flags\":[\"unbounded\"]}"
#define FIT                                                                                                                                                                           \
	"{\"type\":[\"object\",\"null\"],\"description\":\"values with low and high (nominally 90 %; null: unknown; unbounded: no upper bound), and how well the curves fit\","       \
	"\"properties\":{\"t0\":" FITTED ",\"C\":" FITTED ",\"beta\":" FITTED ",\"fixed\":" FITTED ",\"o\":" FITTED                                                                   \
	",\"L\":" FITTED ",\"A\":" FITTED ",\"A_eff\":" FITTED ",\"half\":" FITTED ","                                                                                                \
	"\"g1\":{\"type\":\"array\",\"items\":" FITTED                                                                                                                                \
	"},\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"                                                                                                          \
	"\"flags\":[\"half_of_attainable_peak\",\"L_and_A_separable\",\"o_and_L_separable\",\"zero_work_used\",\"submit_used\",\"offset_used\"],"                                     \
	"\"numbers\":[\"A_lowest\",\"L_per_byte_highest\",\"error\",\"error_host\",\"error_accelerated\",\"worst_error\",\"worst_g\",\"noise\",\"host_calls\",\"accelerated_calls\"," \
	"\"sizes\",\"switched\",\"gmin\",\"gmax\",\"bic_indep\",\"bic_dep\",\"bic_plain\",\"bic_offset\"]}"
#define DEVICE                                                                                                                   \
	"\"name\":{\"type\":[\"string\",\"null\"]},\"unit\":{\"type\":[\"string\",\"null\"]},"                                   \
	"\"L\":" NUM ",\"o\":" NUM ",\"C\":" NUM                                                                                 \
	",\"A\":{\"type\":[\"number\",\"null\"],\"description\":\"null: infinite\"},\"beta\":" NUM ",\"t0\":" NUM ","            \
	"\"kind\":{\"enum\":[\"indep\",\"dep\"]},\"from_bytes\":" NUM ",\"to_bytes\":" NUM ","                                   \
	"\"g1\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"description\":\"every size with speed-up 1, ascending\"}," \
	"\"gA2\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},\"g1_newton\":" NUM ",\"gA2_newton\":" NUM ","             \
	"\"klass\":{\"enum\":[\"compute-bound\",\"latency-bound\"]},\"peak\":{\"type\":\"array\",\"items\":" NUM                 \
	",\"description\":\"[size, speed-up] within the range\"},"                                                               \
	"\"g_half_peak\":" NUM ",\"limit\":" NUM ",\"cannot_tell\":{\"type\":[\"string\",\"null\"]},"                            \
	"\"pays\":{\"enum\":[\"always\",\"never\",\"from\",\"until\",\"between\",\"outside\",null]},"                            \
	"\"pays_from\":" NUM ",\"pays_to\":" NUM ",\"cut\":{\"type\":\"object\",\"properties\":{\"L\":" PAIRS                    \
	",\"o\":" PAIRS ",\"C\":" PAIRS ",\"A\":" PAIRS "}},"                                                                    \
	"\"regions\":" PAIRS                                                                                                     \
	",\"speedup\":{\"type\":\"object\",\"description\":\"by size\",\"propertyNames\":{\"pattern\":\"^[0-9]+$\"},"            \
	"\"additionalProperties\":" NUM "},\"fit\":" FIT ","                                                                     \
	"\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define DESIGNS                                                                                                        \
	"{\"type\":[\"object\",\"null\"],\"description\":\"by threading design\","                                     \
	"\"propertyNames\":{\"enum\":[\"sync\",\"sync-os\",\"async\"]},\"additionalProperties\":" NUM "}"
#define WHATIF                                                                                                         \
	"{\"type\":\"object\",\"properties\":{" DEVICE ",\"at\":" NUM ",\"speedup_at\":" NUM                           \
	",\"program\":{\"type\":[\"object\",\"null\"],"                                                                \
	"\"description\":\"speed-ups of the threading designs\",\"properties\":{\"break_even\":" DESIGNS               \
	"},\"numbers\":[\"sync\",\"sync-os\",\"async\",\"amdahl\",\"amdahl_limit\",\"transfer_every_call\",\"transfer_once\"]}}}"
const char logca_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.logca/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"L\",\"o\",\"C\",\"A\",\"beta\",\"kind\",\"g1\",\"gA2\",\"klass\",\"peak\",\"g_half_peak\",\"cut\",\"regions\",\"speedup\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.logca/1\"}," DEVICE "}}";

const char logca_predict_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.logca-predict/1\",\"type\":\"object\",\"required\":[\"schema\",\"sizes\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.logca-predict/1\"},\"name\":{\"type\":[\"string\",\"null\"]},\"unit\":{\"type\":[\"string\",\"null\"]},\"batch\":" NUM
	",\"sizes\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
	"\"g\":" NUM ",\"host\":" NUM ",\"accelerated\":" NUM ",\"speedup\":" NUM ",\"bound\":" NUM
	",\"improve\":{\"type\":\"string\"},"
	"\"batch_to_pay\":" NUM ",\"extrapolated\":{\"type\":\"boolean\"}}}}}}";

const char logca_whatif_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.logca-whatif/1\",\"type\":\"object\",\"required\":[\"schema\",\"now\",\"changed\"],"
	"\"properties\":{\"schema\":{\"const\":\"accperf.logca-whatif/1\"},\"now\":" WHATIF ",\"changed\":" WHATIF "}}";

const char logca_segments_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.logca-segments/1\",\"type\":\"object\",\"required\":[\"schema\",\"segments\"],"
	"\"properties\":{\"schema\":{\"const\":\"accperf.logca-segments/1\"},\"segments\":{\"type\":\"array\","
	"\"description\":\"each between from_bytes and to_bytes\",\"items\":{\"type\":\"object\",\"properties\":{" DEVICE
	"}}}}}";

const char logca_curves_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.logca-curves/1\",\"type\":\"object\",\"required\":[\"schema\",\"title\",\"curves\"],"
	"\"properties\":{\"schema\":{\"const\":\"accperf.logca-curves/1\"},\"title\":{\"type\":\"string\"},\"curves\":{\"type\":\"array\","
	"\"items\":{\"type\":\"object\",\"required\":[\"name\",\"doubtful\",\"g1\",\"speedup\"],\"properties\":{\"doubtful\":{\"type\":\"boolean\",\"description\":\"published figures that contradict each other\"}," DEVICE
	"}}}}}";
