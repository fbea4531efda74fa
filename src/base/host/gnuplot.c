/* SPDX-License-Identifier: MIT */
/* gnuplot.c - see gnuplot.h. */
#include "base/host/gnuplot.h"
#include "base/host/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

dm_status dm_gnuplot_check(dm_error *err)
{
    char path[DM_PATH_MAX];
    if (dm_program_find(path, "gnuplot"))
        return DM_OK;
    return dm_fail(err, DM_EUNAVAILABLE,
                   "gnuplot is not installed (install it: apt-get install gnuplot-nox)");
}

void dm_gnuplot_quote(dm_buffer *script, const char *path)
{
    dm_buffer_puts(script, "'");
    for (const char *c = path; *c != '\0'; c++) /* a quote inside quotes is doubled */
        dm_buffer_printf(script, *c == '\'' ? "''" : "%c", *c);
    dm_buffer_puts(script, "'");
}

/* The last line that says something: gnuplot shows the script's line, a caret, then the reason. */
static void last_words(FILE *messages, char *out, size_t size)
{
    char line[512];
    out[0] = 0;
    if (messages == NULL)
        return;
    rewind(messages);
    while (fgets(line, sizeof line, messages) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[strspn(line, " \t^")] != 0)
            snprintf(out, size, "%s", line + strspn(line, " \t"));
    }
}

dm_status dm_gnuplot_run(const dm_buffer *script, const char *what, dm_error *err)
{
    dm_status status = dm_gnuplot_check(err);
    if (status == DM_OK)
        status = dm_buffer_check(script, err);
    if (status != DM_OK)
        return status;
    char command[64], reason[256];
    FILE *messages = tmpfile();
    snprintf(command, sizeof command, "exec gnuplot >/dev/null 2>/proc/self/fd/%d",
             messages != NULL ? fileno(messages) : 1);
    FILE *gnuplot = popen(command, "w");
    if (gnuplot == NULL) {
        if (messages != NULL)
            fclose(messages);
        return dm_fail(err, DM_EIO, "gnuplot cannot be started: %s", strerror(errno));
    }
    bool written = fwrite(script->data, 1, script->size, gnuplot) == script->size;
    int code = pclose(gnuplot);
    if (!written || code != 0) {
        last_words(messages, reason, sizeof reason);
        status =
            dm_fail(err, DM_EIO, "%s: gnuplot could not write it (exit code %d)%s%s", what,
                    WIFEXITED(code) ? WEXITSTATUS(code) : -1, reason[0] != 0 ? ": " : "", reason);
    }
    if (messages != NULL)
        fclose(messages);
    return status;
}

dm_status dm_gnuplot_check_file(const char *path, dm_error *err)
{
    struct stat file;
    char tail[65] = "";
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return dm_fail(err, DM_EIO, "%s: gnuplot could not write it", path);
    FILE *f = fopen(path, "rb");
    size_t size = 0;
    if (f != NULL && fseek(f, file.st_size < 64 ? 0 : -64, SEEK_END) == 0)
        size = fread(tail, 1, 64, f);
    if (f != NULL)
        fclose(f);
    if (memmem(tail, size, "IEND", 4) != NULL || memmem(tail, size, "</svg>", 6) != NULL)
        return DM_OK;
    unlink(path);
    return dm_fail(err, DM_EIO, "%s: gnuplot could not write all of it (is the disk full?)", path);
}
