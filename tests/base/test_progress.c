/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "tests/support/tmpdir.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- the text ---- */

typedef struct row {
    uint64_t done, total;
    double seconds;
    int columns;
    const char *expected;
} row;

static void lines_are_formatted(void **state)
{
    (void)state;
    static const row rows[] = {
        /* done, total, seconds, columns */
        {1200, 2400, 4, 82,
         "run  [=============>             ]   50%  1.2k/2.4k frames  300 frames/s  "
         "4s left"},
        {2400, 2400, 8, 0, "run  100%  2.4k/2.4k frames  300 frames/s  in 8s"},
        {0, 2400, 0, 0, "run  0%  0/2.4k frames"},
        {0, 2400, 50, 0, "run  0%  0/2.4k frames"},
        {2399, 2400, 8, 0, "run  99%  2.4k/2.4k frames  300 frames/s  0s left"},
        {3000, 2400, 10, 0, "run  100%  3.0k/2.4k frames  300 frames/s  in 10s"},
        {1, 100, 1, 0, "run  1%  1/100 frames  1 frames/s  1m39s left"},
        {1, 3721, 1, 0, "run  0%  1/3.7k frames  1 frames/s  1h02m left"},
        {1, 1000000, 1, 0, "run  0%  1/1.0M frames  1 frames/s  11d13h left"},
        {1, UINT64_MAX, 1, 0, "run  0%  1/18.4E frames  1 frames/s  >99d left"},
        {UINT64_MAX - 1, UINT64_MAX, 1, 0, "run  99%  18.4E/18.4E frames  18.4E frames/s  0s left"},
        {1234, 0, 2, 0, "run  1.2k frames  617 frames/s"},
        {1, 0, 4, 0, "run  1 frames  0.25 frames/s"},
        {999, 0, 0, 0, "run  999 frames"},
        {1000, 0, 0, 0, "run  1.0k frames"},
        {99949, 0, 0, 0, "run  99.9k frames"},
        {99950, 0, 0, 0, "run  100k frames"},
        {999499, 0, 0, 0, "run  999k frames"},
        {999500, 0, 0, 0, "run  1.0M frames"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        char line[256];
        dm_progress_format(line, sizeof line, "run", "frames", r->done, r->total, r->seconds,
                           r->columns);
        assert_string_equal(line, r->expected);
    }
}

static void without_a_unit(void **state)
{
    (void)state;
    char line[256];
    dm_progress_format(line, sizeof line, "run", NULL, 10, 20, 1, 0);
    assert_string_equal(line, "run  50%  10/20  10/s  1s left");
}

/* Whatever the width, the line is shorter than it, and the bar is there when there is room. */
static void every_width_fits(void **state)
{
    (void)state;
    char line[1024];
    for (int columns = 2; columns < 300; columns++) {
        for (uint64_t done = 0; done <= 100; done += 10) {
            dm_progress_format(line, sizeof line, "label", "frames", done, 100, 3, columns);
            assert_true(strlen(line) < (size_t)columns);
            if (columns > 80)
                assert_non_null(strchr(line, '['));
        }
    }
    dm_progress_format(line, sizeof line, "label", "frames", 50, 100, 3, 30);
    assert_string_equal(line, "label  50%  50/100 frames");
    dm_progress_format(line, sizeof line, "label", "frames", 50, 100, 3, 36);
    assert_string_equal(line, "label  50%  50/100 frames  3s left");
    /* characters are not cut in two */
    dm_progress_format(line, sizeof line, "\xC3\xA4\xC3\xB6\xC3\xBC", "frames", 50, 100, 3, 3);
    assert_string_equal(line, "\xC3\xA4\xC3\xB6");
}

static void small_buffers_are_not_overrun(void **state)
{
    (void)state;
    for (size_t size = 1; size < 90; size++) {
        char *line = malloc(size); /* ASan watches its end */
        dm_progress_format(line, size, "a label", "frames", 50, 100, 3, 80);
        assert_true(strlen(line) < size);
        free(line);
    }
}

/* ---- drawing ---- */

/* Run `body` in a child whose stderr is `fd`; collect what arrives at `reader`. */
static char *output_of(int fd, int reader, void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        close(reader);
        dup2(fd, STDERR_FILENO);
        close(fd);
        body();
        _exit(0);
    }
    close(fd);
    static char text[100000];
    size_t size = 0;
    ssize_t got; /* a terminal whose other side closed gives an error, a pipe gives 0 */
    while (size < sizeof text - 1 && (got = read(reader, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = 0;
    close(reader);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return text;
}

static char *piped(void (*body)(void))
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    return output_of(fds[1], fds[0], body);
}

static char *on_terminal(int columns, void (*body)(void))
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        dm_test_skip("no pseudo-terminals here");
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        dm_test_skip("no pseudo-terminals here");
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    return output_of(slave, master, body);
}

/* What a terminal would show of `text` at its end: lines, with \r and erase-to-end obeyed. A line
 * that reaches the width is a failure. */
static void screen(const char *text, int columns, char out[4000])
{
    size_t line = 0, column = 0, end = 0;
    for (; *text != 0; text++) {
        if (*text == '\n') {
            out[end++] = '\n';
            line = end;
            column = 0;
        } else if (*text == '\r') {
            column = 0;
        } else if (strncmp(text, "\033[K", 3) == 0) {
            end = line + column;
            text += 2;
        } else {
            out[line + column++] = *text;
            if (line + column > end)
                end = line + column;
            assert_true(column < (size_t)columns && end < 3999);
        }
    }
    out[end] = 0;
}

static void count_to_200(void)
{
    dm_progress *p = dm_progress_start("count", "items", 200);
    for (int i = 0; i < 200; i++) {
        pause_ms(2);
        dm_progress_add(p, 1);
        if (i == 150)
            dm_log(DM_LOG_WARN, "halfway");
    }
    dm_progress_finish(p);
}

static void terminal_shows_one_line_below_messages(void **state)
{
    (void)state;
    for (int columns = 25; columns <= 100; columns += 75) {
        char shown[4000];
        const char *text = on_terminal(columns, count_to_200);
        int draws = 0;
        for (const char *c = text; (c = strstr(c, "\033[K")) != NULL; c++)
            draws++;
        assert_in_range(draws, 3, 60); /* 0.4 s or more at ten a second, not one per add */
        screen(text, columns, shown);
        static const char head[] = "dotmatrix: warn: halfway\n";
        assert_memory_equal(shown, head, sizeof head - 1);
        const char *last = shown + sizeof head - 1;
        assert_memory_equal(last, "count  ", 7);
        assert_non_null(strstr(last, "100%"));
        assert_ptr_equal(strchr(last, '\n'), last + strlen(last) - 1); /* one line, ended */
        if (columns == 100)
            assert_non_null(strstr(last, "[========================================]"));
    }
}

static void a_pipe_gets_only_the_last_line(void **state)
{
    (void)state;
    const char *text = piped(count_to_200);
    assert_null(strchr(text, '\r'));
    assert_null(strchr(text, '\033'));
    static const char head[] = "dotmatrix: warn: halfway\ncount  100%  200/200 items  ";
    assert_memory_equal(text, head, sizeof head - 1);
    assert_ptr_equal(strrchr(text, '\n'), text + strlen(text) - 1);
}

static void dumb_terminal(void)
{
    setenv("TERM", "dumb", 1);
    count_to_200();
}

static void a_dumb_terminal_is_no_terminal(void **state)
{
    (void)state;
    const char *text = on_terminal(80, dumb_terminal);
    assert_null(strchr(text, '\033'));
}

static void slow(void)
{
    dm_progress *p = dm_progress_start("slow", NULL, 0);
    dm_progress_add(p, 7);
    pause_ms(900);
    dm_progress_finish(p);
}

static void slow_with_a_line_every_half_second(void)
{
    setenv("DM_PROGRESS", "0.5", 1);
    slow();
}

static void slow_with_a_word(void)
{
    setenv("DM_PROGRESS", "0.1s", 1);
    slow();
}

static int count_lines(const char *text)
{
    int count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        count++;
    return count;
}

/* By default the period is longer than this run, which leaves the final line. */
static void a_pipe_gets_a_line_every_period(void **state)
{
    (void)state;
    static const char head[] = "slow  7  ";
    const char *text = piped(slow_with_a_line_every_half_second);
    assert_memory_equal(text, head, sizeof head - 1);
    assert_memory_equal(strchr(text, '\n') + 1, head, sizeof head - 1);
    assert_in_range(count_lines(text), 2, 10); /* two on a host that is not late */
    assert_int_equal(count_lines(piped(slow)), 1);
    assert_int_equal(count_lines(piped(slow_with_a_word)), 1);
}

/* A hundred of which nothing is told for 0.9 s, at a pace that is known. */
static void expected(void)
{
    setenv("DM_PROGRESS", "0.1", 1);
    dm_progress *p = dm_progress_start("wait", "items", 200);
    dm_progress_expect(p, 100, 0.8);
    pause_ms(900);
    dm_progress_add(p, 100);
    dm_progress_expect(p, 0, 0);
    pause_ms(250);
    dm_progress_finish(p);
}

static void work_under_way_moves_the_bar_by_its_pace_and_never_past_its_end(void **state)
{
    (void)state;
    int last = -1, before_end = 0;
    for (const char *line = piped(expected); *line != 0; line = strchr(line, '\n') + 1) {
        int percent = 0;
        unsigned done = 0;
        assert_int_equal(sscanf(line, "wait %d%% %u/200", &percent, &done), 2);
        assert_true((int)done >= last && done <= 100);
        before_end += done > 0 && done < 100;
        last = (int)done;
    }
    assert_int_equal(last, 100);
    assert_true(before_end >= 1); /* eight on a host that is not late */
}

static void silenced(void)
{
    setenv("DM_PROGRESS", "off", 1);
    dm_progress *p = dm_progress_start("count", "items", 10);
    if (p != NULL)
        _exit(1);
    dm_progress_add(p, 1);
    dm_progress_finish(p);
}

static void off_is_silent(void **state)
{
    (void)state;
    assert_string_equal(piped(silenced), "");
}

static void *add_often(void *progress)
{
    for (int i = 0; i < 100000; i++)
        dm_progress_add(progress, 1);
    return NULL;
}

static void add_from_threads(void)
{
    dm_progress *p = dm_progress_start("threads", "adds", 400000);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, add_often, p);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    dm_progress_finish(p);
}

static void adds_of_threads_all_count(void **state)
{
    (void)state;
    assert_non_null(strstr(piped(add_from_threads), "100%  400k/400k adds"));
}

static void relabelled(void)
{
    dm_progress_label(NULL, "silenced");
    dm_progress *p = dm_progress_start("step 0", "steps", 2);
    dm_progress_add(p, 2);
    dm_progress_label(p, "step 2, loss 0.5");
    dm_progress_finish(p);
}

static void the_last_label_is_shown(void **state)
{
    (void)state;
    static const char head[] = "step 2, loss 0.5  100%  2/2 steps";
    assert_memory_equal(piped(relabelled), head, sizeof head - 1);
}

DM_TESTS("base/progress", DM_TEST(lines_are_formatted), DM_TEST(without_a_unit),
         DM_TEST(every_width_fits), DM_TEST(small_buffers_are_not_overrun),
         DM_TEST(terminal_shows_one_line_below_messages), DM_TEST(a_pipe_gets_only_the_last_line),
         DM_TEST(a_dumb_terminal_is_no_terminal), DM_TEST(a_pipe_gets_a_line_every_period),
         DM_TEST(off_is_silent),
         DM_TEST(work_under_way_moves_the_bar_by_its_pace_and_never_past_its_end),
         DM_TEST(adds_of_threads_all_count), DM_TEST(the_last_label_is_shown))
