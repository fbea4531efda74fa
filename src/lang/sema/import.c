/* SPDX-License-Identifier: MIT */
/* import.c - imports of modules that are files beside the one being compiled, or in a folder above it. */
#include "lang/sema/module.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define IMPORTS_MAX 200
#define IMPORT_LEVELS_MAX 8 /* folders above a file that are searched */

static dm_scope *load_file(dm_scope *scope, const char *path)
{
    dm_module_unit *module = scope->module;
    dm_lang *lang = scope->lang;
    char *bytes;
    size_t size;
    for (const dm_imported *i = module->imported; i != NULL; i = i->next)
        if (strcmp(i->path, path) == 0)
            return i->scope;
    dm_imported *made = dm_lang_alloc(lang, sizeof *made);
    *made = (dm_imported){.path = dm_lang_format(lang, "%s", path), .next = module->imported};
    module->imported = made;
    if (module->import_count >= IMPORTS_MAX || !dm_file_exists(path) ||
        dm_file_read(path, DM_LANG_SOURCE_MAX, &bytes, &size, NULL) != DM_OK)
        return NULL;
    module->import_count++;
    char *text = dm_arena_strndup(&lang->arena, bytes, size);
    free(bytes);
    if (text == NULL)
        dm_lang_bail(lang, "out of memory");
    made->scope = dm_scope_new(lang, module, NULL);
    made->scope->file = made->path;
    const dm_ast *tree = dm_lang_parse(lang, dm_lang_add_source(lang, made->path, text, size));
    bool outer = module->importing;
    module->importing = true;
    dm_scope_fill(made->scope, tree);
    module->importing = outer;
    return made->scope;
}

/* `folder`/a/b.py or `folder`/a/b/__init__.py for "a.b" */
static dm_scope *load_in(dm_scope *scope, const char *folder, const char *dotted)
{
    char *name = dm_lang_format(scope->lang, "%s", dotted);
    for (char *p = name; *p != '\0'; p++)
        *p = *p == '.' ? '/' : *p;
    dm_scope *found = NULL;
    if (name[0] != '\0')
        found = load_file(scope, dm_lang_format(scope->lang, "%s/%s.py", folder, name));
    return found != NULL ? found
                         : load_file(scope, dm_lang_format(scope->lang,
                                                           name[0] == '\0' ? "%s%s/__init__.py"
                                                                           : "%s/%s/__init__.py",
                                                           folder, name));
}

/* Cut the last part of a path off; false when there is none. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* The file of a module as it is imported from this scope's file: relative to it, or in its folder
 * or one above. NULL when there is none. */
dm_scope *dm_import_module(dm_scope *scope, const char *dotted)
{
    dm_scope *root = scope;
    while (root->parent != NULL)
        root = root->parent;
    if (!scope->module->options.imports || root->file == NULL)
        return NULL;
    char *folder = dm_lang_format(scope->lang, "%s", root->file);
    if (!go_up(folder))
        folder = dm_lang_format(scope->lang, ".");
    if (dotted[0] == '.') {
        for (dotted++; *dotted == '.'; dotted++)
            if (!go_up(folder))
                return NULL;
        return load_in(scope, folder, dotted);
    }
    for (int level = 0; level < IMPORT_LEVELS_MAX; level++) {
        dm_scope *found = load_in(scope, folder, dotted);
        if (found != NULL || !go_up(folder))
            return found;
    }
    return NULL;
}

static const dm_value *module_value(dm_scope *scope, const char *dotted)
{
    dm_scope *file = dm_import_module(scope, dotted);
    if (file == NULL)
        return dm_value_unknown(scope);
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = file;
    return value;
}

/* `name` of the module, or the module module.name; NULL when there is neither. */
const dm_value *dm_import_name(dm_scope *scope, const char *dotted, const char *name)
{
    dm_scope *file = dm_import_module(scope, dotted);
    const dm_value *found = file == NULL ? NULL : dm_scope_lookup(file, name, DM_POS_NONE);
    if (found != NULL)
        return found;
    size_t length = strlen(dotted);
    const char *inner = dm_lang_format(
        scope->lang, length > 0 && dotted[length - 1] == '.' ? "%s%s" : "%s.%s", dotted, name);
    file = dm_import_module(scope, inner);
    if (file == NULL)
        return NULL;
    dm_value *value = dm_value_new(scope->lang, DM_VALUE_CLASS);
    value->scope = file;
    return value;
}

const dm_value *dm_import_value(dm_scope *scope, const char *module)
{
    if (strncmp(module, "warp", 4) == 0 && (module[4] == '\0' || strcmp(module, "warp.types") == 0))
        return dm_value_text(scope->lang, DM_VALUE_MODULE, "warp");
    if (strcmp(module, "numpy") == 0 || strcmp(module, "math") == 0)
        return dm_value_text(scope->lang, DM_VALUE_MODULE, module);
    if (strcmp(module, "typing") == 0 || strcmp(module, "typing_extensions") == 0)
        return dm_value_text(scope->lang, DM_VALUE_MODULE, "typing");
    return module_value(scope, module);
}
