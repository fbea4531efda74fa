/* SPDX-License-Identifier: MIT */
/* main.c - the dotmatrix command: everything that its subcommands (commands.c) share. See command.h.
 *
 *   dotmatrix [--log-level L] NAME [options] [arguments]
 *
 * Answers go to stdout, everything else to stderr; an error is one line, then the exit code of
 * docs/cli.md. */
#include "base/terminal/color.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "cli/command.h"
#include "cli/man.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug", NULL};

typedef struct common_options {
    int log_level;
    bool help;
    bool version;
} common_options;

/* `--version` is the last row, and only known before the subcommand. */
static const dm_option common_rows[] = {
    DM_OPTION_CHOICE(common_options, log_level, "log-level", level_names, NULL,
                     "how much is said on stderr (default: $DM_LOG, else warn)"),
    DM_OPTION_FLAG(common_options, help, "help", "show this text"),
    DM_OPTION_FLAG(common_options, version, "version", "show the version"),
};
#define COMMON_COUNT (sizeof common_rows / sizeof common_rows[0])

static const dm_command *find_command(const char *name)
{
    for (size_t i = 0; i < dm_command_count; i++)
        if (strcmp(dm_commands[i]->name, name) == 0)
            return dm_commands[i];
    return NULL;
}

/* "dotmatrix info: message", with the place in the input where there is one. */
static int report(const char *command, const dm_error *err)
{
    fprintf(stderr, "%sdotmatrix%s%s:%s ", dm_color(STDERR_FILENO, DM_COLOR_RED),
            command[0] ? " " : "", command, dm_color(STDERR_FILENO, DM_COLOR_OFF));
    size_t named = strlen(err->file); /* a compiler's message says the place itself */
    bool said = strncmp(err->message, err->file, named) == 0 && err->message[named] == ':';
    if (named > 0 && !said && err->line > 0)
        fprintf(stderr, "%s:%d: ", err->file, err->line);
    else if (named > 0 && !said)
        fprintf(stderr, "%s: ", err->file);
    int length = (int)strlen(err->message);
    while (length > 0 && err->message[length - 1] == '\n') /* a compiler's message ends with one */
        length--;
    dm_buffer text = DM_BUFFER_EMPTY;
    if (err->status == DM_ECOMPILE && dm_color_wanted(STDERR_FILENO))
        dm_color_diagnostics(err->message, &text);
    if (text.size > 0 && !text.failed)
        fprintf(stderr, "%s%s", dm_buffer_text(&text),
                text.data[text.size - 1] == '\n' ? "" : "\n");
    else
        fprintf(stderr, "%.*s\n", length, err->message);
    dm_buffer_deinit(&text);
    return dm_cli_exit_code(err->status);
}

/* After Ctrl-C the command's own error is a consequence (a child was killed) and is not shown. */
static int report_interruption(const char *command)
{
    dm_stop_tell(command);
    return DM_EXIT_INTERRUPTED;
}

static int out_of_memory(void)
{
    dm_error err;
    dm_fail(&err, DM_ENOMEM, "out of memory");
    return report("", &err);
}

static int print_and_free(dm_buffer *text)
{
    bool failed = text->failed;
    if (!failed)
        fputs(dm_buffer_text(text), stdout);
    dm_buffer_deinit(text);
    return failed ? out_of_memory() : DM_EXIT_OK;
}

static int print_main_help(void)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_option_set common = {common_rows, COMMON_COUNT, NULL};
    dm_buffer_puts(&text, "usage: dotmatrix [OPTIONS] COMMAND ...\n\n"
                          "Learning environments at GPU speed.\n\ncommands:\n");
    for (size_t i = 0; i < dm_command_count; i++)
        dm_buffer_printf(&text, "  %-10s  %s\n", dm_commands[i]->name, dm_commands[i]->summary);
    dm_buffer_printf(&text, "  %-10s  %s\n", "help", "show the help of a command");
    dm_buffer_puts(&text, "\noptions:\n");
    dm_options_help(&text, &common, 1);
    return print_and_free(&text);
}

/* For a command with actions the arguments after its name may name the action. */
static int print_command_help(const dm_command *command, const char *action)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    if (command->action_count > 0) {
        dm_action_help(&text, command, action != NULL ? dm_action_find(command, action) : NULL,
                       common_rows, COMMON_COUNT - 1);
        return print_and_free(&text);
    }
    dm_option_set sets[2] = {{command->options, command->option_count, NULL},
                             {common_rows, COMMON_COUNT - 1, NULL}};
    dm_buffer_printf(&text, "usage: dotmatrix %s [OPTIONS]%s%s\n\n%s.\n\noptions:\n", command->name,
                     command->arguments[0] ? " " : "", command->arguments, command->summary);
    dm_options_help(&text, sets, 2);
    if (command->examples != NULL)
        dm_buffer_puts(&text, "\nexamples:\n");
    for (const char *at = command->examples; at != NULL && *at != 0;) {
        int length = (int)strcspn(at, "\n");
        dm_buffer_printf(&text, "  %.*s\n", length, at);
        at += length + (at[length] != 0);
    }
    return print_and_free(&text);
}

/* Not among the options that the help shows: for the build. */
static int print_made(void (*make)(dm_buffer *out, const dm_option *common, size_t common_count))
{
    dm_buffer text = DM_BUFFER_EMPTY;
    make(&text, common_rows, COMMON_COUNT);
    return print_and_free(&text);
}

static int fail_unknown_command(const char *name)
{
    const char *names[64] = {"help"};
    for (size_t i = 0; i < dm_command_count && i + 2 < 64; i++)
        names[i + 1] = dm_commands[i]->name;
    const char *guess = dm_closest(name, names);
    dm_error err;
    if (guess != NULL)
        dm_fail(&err, DM_EINVAL, "unknown command '%.64s'; did you mean %s?", name, guess);
    else
        dm_fail(&err, DM_EINVAL, "unknown command '%.64s'; dotmatrix --help lists them", name);
    return report("", &err);
}

/* The names of the options that were given, where the command's table has a row for them. */
static const dm_strings *given_options(const dm_command *command, const void *values)
{
    static const dm_strings none;
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].type == DM_OPTION_TYPE_GIVEN)
            return (const void *)((const char *)values + command->options[i].offset);
    return &none;
}

static dm_status check_arguments(const dm_command *command, const void *values,
                                 const dm_strings *arguments, dm_error *err)
{
    if (command->action_count > 0)
        return dm_action_check(command, arguments, given_options(command, values), err);
    if (arguments->count > command->arguments_max)
        return dm_fail(err, DM_EINVAL, "unexpected argument '%s'",
                       arguments->items[command->arguments_max]);
    if (arguments->count < command->arguments_min)
        return dm_fail(err, DM_EINVAL, "missing argument; usage: dotmatrix %s [OPTIONS] %s",
                       command->name, command->arguments);
    return DM_OK;
}

/* A variable with a value that would be passed over in silence. */
static dm_status check_environment(dm_error *err)
{
    dm_log_level level;
    const char *value = getenv("DM_LOG");
    if (value != NULL && value[0] != 0 && !dm_log_parse_level(value, &level))
        return dm_fail(err, DM_EINVAL, "DM_LOG=%.40s is no level: error, warn, info or debug",
                       value);
    static const struct {
        const char *name, *word; /* a word that is fine besides numbers */
        double low, high;
    } numbers[] = {{"DM_PROGRESS", "off", 0, 86400},
                   {"DM_THREADS", "", 1, 1024},
                   {"DM_LAB_TIMEOUT", "", 0.001, 1e6}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char *end;
        value = getenv(numbers[i].name);
        if (value == NULL || value[0] == 0 || strcmp(value, numbers[i].word) == 0)
            continue;
        double number = strtod(value, &end);
        if (*end != 0 || !(number >= numbers[i].low && number <= numbers[i].high))
            return dm_fail(err, DM_EINVAL, "%s=%.40s is no number from %g to %g", numbers[i].name,
                           value, numbers[i].low, numbers[i].high);
    }
    return DM_OK;
}

/* `common->log_level` is -1 when nothing was said about it. */
static int run_command(const dm_command *command, common_options *common, int argc, char **argv)
{
    void *values = calloc(1, command->options_size > 0 ? command->options_size : 1);
    if (values == NULL)
        return out_of_memory();
    dm_option_set sets[2] = {{command->options, command->option_count, values},
                             {common_rows, COMMON_COUNT - 1, common}};
    dm_strings arguments;
    dm_error err = {0};
    bool negative = false;
    int code;
    dm_status status = dm_options_parse(sets, 2, argc, argv, &arguments, &err);
    if (status == DM_OK && common->help) {
        code = print_command_help(command, arguments.count > 0 ? arguments.items[0] : NULL);
    } else {
        if (common->log_level >= 0)
            dm_log_set_level((dm_log_level)common->log_level);
        if (status == DM_OK)
            status = check_environment(&err);
        if (status == DM_OK)
            status = check_arguments(command, values, &arguments, &err);
        if (status == DM_OK)
            status = command->run(values, &arguments, &negative, &err);
        code = negative ? DM_EXIT_NEGATIVE : DM_EXIT_OK;
        if (dm_stop_requested()) {
            fflush(stdout);
            code = report_interruption(command->name);
        } else if (status != DM_OK) {
            fflush(stdout); /* what was answered before comes first */
            code = report(command->name, &err);
        }
    }
    dm_options_deinit(sets, 2, &arguments);
    free(values);
    return code;
}

static int help_command(int argc, char **argv)
{
    if (argc == 0 || argv[0][0] == '-')
        return print_main_help();
    if (strcmp(argv[0], "help") == 0)
        return print_main_help();
    const dm_command *command = find_command(argv[0]);
    return command != NULL ? print_command_help(command, argc > 1 ? argv[1] : NULL)
                           : fail_unknown_command(argv[0]);
}

/* Where the subcommand stands: the first argument that is no option nor an option's value. */
static int find_subcommand(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-')
        i += strcmp(argv[i], "--log-level") == 0 ? 2 : 1;
    return i < argc ? i : argc;
}

static int dispatch(int argc, char **argv)
{
    common_options common = {.log_level = -1};
    dm_option_set set = {common_rows, COMMON_COUNT, &common};
    dm_strings none;
    dm_error err = {0};
    if (argc == 2 && strcmp(argv[1], "--man") == 0)
        return print_made(dm_man_page);
    if (argc == 2 && strcmp(argv[1], "--completion") == 0)
        return print_made(dm_man_completion);
    int at = find_subcommand(argc, argv);
    dm_status status = dm_options_parse(&set, 1, at - 1, argv + 1, &none, &err);
    dm_options_deinit(&set, 1, &none);
    if (status != DM_OK)
        return report("", &err);
    if (common.version) {
        printf("dotmatrix %s\n", dm_version_string());
        return DM_EXIT_OK;
    }
    if (common.help)
        return print_main_help();
    if (at == argc) {
        dm_fail(&err, DM_EINVAL, "which command? dotmatrix --help lists them");
        return report("", &err);
    }
    if (strcmp(argv[at], "help") == 0)
        return help_command(argc - at - 1, argv + at + 1);
    const dm_command *command = find_command(argv[at]);
    if (command == NULL)
        return fail_unknown_command(argv[at]);
    return run_command(command, &common, argc - at - 1, argv + at + 1);
}

/* A standard stream that was closed at the start becomes /dev/null, opened for the other direction:
 * no file of ours gets its number, and using it still fails. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(DM_EXIT_IO);
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* A reader that went away early (`| head`) is no error; a full disk is. */
static int finish_output(int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    if (!failed || errno == EPIPE || reader_is_gone())
        return code;
    fprintf(stderr, "dotmatrix: cannot write to standard output: %s\n",
            errno != 0 ? strerror(errno) : "an earlier write failed");
    return code == DM_EXIT_OK ? DM_EXIT_IO : code;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    dm_stop_install();
    dm_progress_show_waits();
    return finish_output(dispatch(argc, argv));
}
