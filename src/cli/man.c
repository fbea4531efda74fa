/* SPDX-License-Identifier: MIT */
/* man.c - see man.h. References: groff_man(7); bash(1), "Programmable Completion". */
#include "cli/man.h"

#include <dotmatrix/base.h>

/* Text whose characters mean nothing to roff. */
static void put_text(dm_buffer *out, const char *text)
{
    for (bool first = true; *text != 0; text++, first = false) {
        if (first && (*text == '.' || *text == '\''))
            dm_buffer_puts(out, "\\&");
        if (*text == '\\')
            dm_buffer_puts(out, "\\e");
        else if (*text == '-')
            dm_buffer_puts(out, "\\-");
        else
            dm_buffer_putc(out, *text);
    }
}

static void put_row(dm_buffer *out, const dm_option *row)
{
    dm_buffer_puts(out, ".TP\n\\fB\\-\\-");
    put_text(out, row->name);
    dm_buffer_puts(out, "\\fR");
    if (row->type == DM_OPTION_TYPE_CHOICE) {
        for (int i = 0; row->choices[i] != NULL; i++) {
            dm_buffer_puts(out, i > 0 ? "|" : " ");
            put_text(out, row->choices[i]);
        }
    } else if (row->type != DM_OPTION_TYPE_FLAG) {
        dm_buffer_puts(out, " \\fI");
        put_text(out, row->metavar);
        dm_buffer_puts(out, "\\fR");
    }
    dm_buffer_putc(out, '\n');
    put_text(out, row->help);
    if (row->initial != NULL) {
        dm_buffer_puts(out, " [");
        put_text(out, row->initial);
        dm_buffer_putc(out, ']');
    }
    dm_buffer_putc(out, '\n');
}

static void put_rows(dm_buffer *out, const dm_option *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != DM_OPTION_TYPE_GIVEN)
            put_row(out, &rows[i]);
}

static void put_actions(dm_buffer *out, const dm_command *c)
{
    for (size_t i = 0; i < c->action_count; i++) {
        const dm_action *action = &c->actions[i];
        dm_buffer_puts(out, ".TP\n\\fB");
        put_text(out, action->name);
        dm_buffer_puts(out, "\\fR ");
        put_text(out, action->arguments);
        dm_buffer_putc(out, '\n');
        put_text(out, action->summary);
        dm_buffer_puts(out, ".\n");
        if (action->takes[0] == 0)
            continue;
        dm_buffer_puts(out, "Options: ");
        put_text(out, action->takes);
        dm_buffer_puts(out, ".\n");
    }
}

static void put_examples(dm_buffer *out, const dm_command *c)
{
    dm_buffer_puts(out, ".PP\n.nf\n");
    for (size_t i = 0; i < c->action_count; i++) {
        put_text(out, c->actions[i].example != NULL ? c->actions[i].example : "");
        dm_buffer_putc(out, '\n');
    }
    put_text(out, c->examples != NULL ? c->examples : "");
    dm_buffer_puts(out, "\n.fi\n");
}

typedef struct pair {
    const char *name, *text;
} pair;

static void put_pairs(dm_buffer *out, const char *title, const pair *pairs, size_t count)
{
    dm_buffer_printf(out, ".SH %s\n", title);
    for (size_t i = 0; i < count; i++) {
        dm_buffer_puts(out, ".TP\n.B ");
        put_text(out, pairs[i].name);
        dm_buffer_putc(out, '\n');
        put_text(out, pairs[i].text);
        dm_buffer_putc(out, '\n');
    }
}

/* The table of docs/cli.md says the same, and goes on; cli/cli compares them. */
static const pair exit_codes[] = {
    {"0", "done; the answer is yes where there is one"},
    {"1", "done, and the answer is no: a mismatch, a failed check"},
    {"2", "wrong use: an unknown command or option, a value out of range"},
    {"3", "missing hardware or a missing optional component"},
    {"4", "an input is missing, damaged, of another format or of a kind that is not supported"},
    {"5", "a file, or standard output, could not be read or written"},
    {"6", "out of memory, on the host or on a device"},
    {"7", "source text does not compile"},
    {"8", "a device or its driver reported an error"},
    {"70", "a bug in dotmatrix"},
    {"130", "interrupted by Ctrl-C (SIGINT) or SIGTERM: one line says what was kept"},
};

static const pair variables[] = {
    {"DM_LOG", "how much is said on standard error: error, warn, info or debug"},
    {"DM_PROGRESS", "off: no progress; a number: seconds between its lines in a log"},
    {"DM_THREADS", "threads for work on the CPU"},
    {"CC", "the C compiler of kernels on the CPU (default: the first of cc, gcc and clang)"},
    {"DM_CACHE_DIR", "where compiled kernels are kept"},
    {"DM_CACHE_MAX", "how large that folder may become: bytes, or with K, M, G"},
    {"DM_PYTHON", "the Python that runs PyBoy"},
    {"DM_LAB_TIMEOUT", "seconds that a reference emulator may take for an answer"},
    {"DM_ROMS", "the folder with the sources of our ROMs"},
    {"DM_NVRTC", "the NVRTC library to compile GPU code with"},
    {"DM_CUBLASLT", "the cuBLASLt library for matrix products on CUDA"},
    {"DM_LIBCUDA", "the NVIDIA driver's library"},
    {"NO_COLOR", "no colours on a terminal"},
};

void dm_man_page(dm_buffer *out, const dm_option *common, size_t common_count)
{
    dm_buffer_printf(out, ".TH DOTMATRIX 1 \"\" \"dotmatrix %s\" \"User Commands\"\n",
                     dm_version_string());
    dm_buffer_puts(out, ".SH NAME\ndotmatrix \\- learning environments at GPU speed\n"
                        ".SH SYNOPSIS\n.B dotmatrix\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n"
                        ".SH OPTIONS\n");
    put_rows(out, common, common_count);
    dm_buffer_puts(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < dm_command_count; i++) {
        const dm_command *c = dm_commands[i];
        dm_buffer_printf(out, ".SS %s\n\\fBdotmatrix %s\\fR [\\fIOPTIONS\\fR] ", c->name, c->name);
        put_text(out, c->arguments);
        dm_buffer_puts(out, "\n.PP\n");
        put_text(out, c->summary);
        dm_buffer_puts(out, ".\n");
        put_actions(out, c);
        put_rows(out, c->options, c->option_count);
        put_examples(out, c);
    }
    put_pairs(out, "EXIT STATUS", exit_codes, sizeof exit_codes / sizeof exit_codes[0]);
    put_pairs(out, "ENVIRONMENT", variables, sizeof variables / sizeof variables[0]);
}

/* Every option of a command, and the words of those with a choice. Values of other options and
 * arguments are file names. */
void dm_man_completion(dm_buffer *out, const dm_option *common, size_t common_count)
{
    dm_buffer_puts(out,
                   "# bash completion for dotmatrix; made from its option rows\n"
                   "_dotmatrix()\n{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
                   "    local command= i words\n"
                   "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                   "        case ${COMP_WORDS[i]} in\n"
                   "        --log-level) ((i++)) ;;\n"
                   "        -*) ;;\n"
                   "        *) command=${COMP_WORDS[i]}; break ;;\n"
                   "        esac\n"
                   "    done\n"
                   "    case $command:$last in\n");
    for (size_t c = 0; c <= dm_command_count; c++) {
        const dm_option *rows = c < dm_command_count ? dm_commands[c]->options : common;
        size_t count = c < dm_command_count ? dm_commands[c]->option_count : common_count;
        for (size_t i = 0; i < count; i++) {
            if (rows[i].type != DM_OPTION_TYPE_CHOICE)
                continue;
            dm_buffer_printf(out, "    %s:--%s) words=\"",
                             c < dm_command_count ? dm_commands[c]->name : "*", rows[i].name);
            for (int k = 0; rows[i].choices[k] != NULL; k++)
                dm_buffer_printf(out, "%s%s", k > 0 ? " " : "", rows[i].choices[k]);
            dm_buffer_puts(out, "\" ;;\n");
        }
    }
    for (size_t c = 0; c < dm_command_count; c++) {
        dm_buffer_printf(out, "    %s:*) words=\"--help --log-level", dm_commands[c]->name);
        for (size_t i = 0; i < dm_commands[c]->action_count; i++)
            dm_buffer_printf(out, " %s", dm_commands[c]->actions[i].name);
        for (size_t i = 0; i < dm_commands[c]->option_count; i++)
            if (dm_commands[c]->options[i].type != DM_OPTION_TYPE_GIVEN)
                dm_buffer_printf(out, " --%s", dm_commands[c]->options[i].name);
        dm_buffer_puts(out, "\" ;;\n");
    }
    dm_buffer_puts(out, "    *) words=\"help");
    for (size_t c = 0; c < dm_command_count; c++)
        dm_buffer_printf(out, " %s", dm_commands[c]->name);
    for (size_t i = 0; i < common_count; i++)
        dm_buffer_printf(out, " --%s", common[i].name);
    dm_buffer_puts(out,
                   "\" ;;\n    esac\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "    case $word in -*) ;; *)\n"
                   "        [ -z \"$command\" ] || COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n"
                   "    esac\n}\ncomplete -o filenames -F _dotmatrix dotmatrix\n");
}
