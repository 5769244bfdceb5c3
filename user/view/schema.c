// SPDX-License-Identifier: GPL-2.0-or-later
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "view/schema.h"

/* "numbers":["a","b"] beside a type stands for properties of these names that are numbers or null; and so on. */
static void spell_lists(json_t *at)
{
	static const struct {
		const char *list, *of;
	} shorthand[] = { { "numbers", "number" }, { "texts", "string" }, { "flags", "boolean" } };
	json_t *properties = json_object_get(at, "properties"), *name;
	size_t k;

	for (size_t i = 0; i < sizeof(shorthand) / sizeof(shorthand[0]); i++) {
		json_t *list = json_object_get(at, shorthand[i].list);

		if (!json_is_array(list) || !json_object_get(at, "type"))
			continue;
		if (!properties) {
			properties = json_object();
			json_object_set_new(at, "properties", properties);
		}
		json_array_foreach(list, k, name)
			json_object_set_new(properties, json_string_value(name),
					    json_pack("{s:[s,s]}", "type", shorthand[i].of, "null"));
		json_object_del(at, shorthand[i].list);
	}
}

static void close_objects(json_t *at)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_array(at))
		json_array_foreach(at, i, value) close_objects(value);
	if (!json_is_object(at))
		return;
	spell_lists(at);
	json_object_foreach(at, key, value) close_objects(value);
	/* a property may be called so: that of a schema stands beside a type */
	if (json_is_object(json_object_get(at, "properties")) && json_object_get(at, "type") &&
	    !json_object_get(at, "additionalProperties"))
		json_object_set_new(at, "additionalProperties", json_false());
}

bool schema_closed(const char *schema, struct buf *out)
{
	json_t *root = json_loads(schema, 0, NULL);
	char *text;

	if (!root)
		return false;
	close_objects(root);
	text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(root);
	if (!text)
		return false;
	buf_addstr(out, text);
	free(text);
	return true;
}
