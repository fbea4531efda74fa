/* SPDX-License-Identifier: MIT */
/* Commands of several actions: their tables, help, and what is refused. */
#include "cli/command.h"
#include "tests/support/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

static void tables_name_options_that_exist(void **state)
{
    (void)state;
    for (size_t c = 0; c < dm_command_count; c++) {
        const dm_command *command = dm_commands[c];
        bool given = command->action_count == 0;
        for (size_t i = 0; i < command->option_count; i++)
            given |= command->options[i].type == DM_OPTION_TYPE_GIVEN;
        if (!given)
            fail_msg("%s has actions and no row for what was given", command->name);
        for (size_t a = 0; a < command->action_count; a++) {
            char takes[512], *save;
            snprintf(takes, sizeof takes, "%s", command->actions[a].takes);
            for (char *w = strtok_r(takes, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
                bool found = false;
                for (size_t i = 0; i < command->option_count; i++)
                    found |= strcmp(command->options[i].name, w) == 0;
                if (!found)
                    fail_msg("%s %s takes --%s, which there is not", command->name,
                             command->actions[a].name, w);
            }
        }
    }
}

/* Every option is in the help of exactly the actions that take it. */
static void help_of_an_action_has_its_options(void **state)
{
    (void)state;
    for (size_t c = 0; c < dm_command_count; c++) {
        const dm_command *command = dm_commands[c];
        for (size_t a = 0; a < command->action_count; a++) {
            const dm_action *action = &command->actions[a];
            dm_buffer text = DM_BUFFER_EMPTY;
            dm_action_help(&text, command, action, NULL, 0);
            assert_non_null(strstr(dm_buffer_text(&text), action->summary));
            assert_non_null(action->example);
            assert_non_null(strstr(dm_buffer_text(&text), action->example));
            for (size_t i = 0; i < command->option_count; i++) {
                const dm_option *row = &command->options[i];
                bool listed = false, shared = true;
                if (row->type == DM_OPTION_TYPE_GIVEN)
                    continue; /* it has no name */
                for (size_t k = 0; k < command->action_count; k++)
                    shared &= !has_word(command->actions[k].takes, row->name);
                listed = shared || has_word(action->takes, row->name);
                char option[80];
                snprintf(option, sizeof option, "\n  --%s", row->name);
                const char *at = strstr(dm_buffer_text(&text), option);
                while (at != NULL && strchr(" \n", at[strlen(option)]) == NULL)
                    at = strstr(at + 1, option);
                if ((at != NULL) != listed)
                    fail_msg("%s %s --help and --%s", command->name, action->name, row->name);
            }
            dm_buffer_deinit(&text);
        }
    }
}

static void wrong_use_names_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[8];
        const char *says;
    } cases[] = {
        {{"kernel", "compile", "k.py", "--arg", "a=1"}, "--arg is for run, not for compile"},
        {{"roms", "check", "--json"}, "--json is for list and info, not for check"},
        {{"synth", "stats", "x", "--jobs=2"}, "--jobs is for produce and validate, not for stats"},
        {{"dynamics", "bnch"}, "unknown action 'bnch'; did you mean bench?"},
        {{"dynamics", "something"},
         "there are forecast, learn, evaluate, rollout, check and bench"},
        {{"dynamics"}, "missing argument; usage: dotmatrix dynamics"},
        {{"dynamics", "check", "x"}, "unexpected argument 'x'"},
        {{"kernel", "run"}, "usage: dotmatrix kernel run [OPTIONS] FILE"},
        {{"dynamics", "rollout", "--passes", "3"}, "--passes does nothing without --losses"},
        {{"synth", "produce", "--out", ""}, "--out: the name is empty"},
        {{"bench", "--obs", "small,,vector"}, "--obs: 'small,,vector' has an empty place"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        dm_test_run_dotmatrix(NULL, cases[i].arguments, &r);
        dm_test_expect_exit(&r, DM_EXIT_USAGE);
        assert_string_equal(r.out, "");
        if (strstr(r.err, cases[i].says) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].says, r.err);
        dm_test_result_free(&r);
    }
}

DM_TESTS("cli/actions", DM_TEST(tables_name_options_that_exist),
         DM_TEST(help_of_an_action_has_its_options), DM_TEST(wrong_use_names_the_reason))
