/* SPDX-License-Identifier: MIT */
/* gnuplot.c - see gnuplot.h. */
#include "base/gnuplot.h"
#include "base/machine.h"

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

dm_status dm_gnuplot_run(const dm_buffer *script, const char *what, dm_error *err)
{
    dm_status status = dm_gnuplot_check(err);
    if (status == DM_OK)
        status = dm_buffer_check(script, err);
    if (status != DM_OK)
        return status;
    FILE *gnuplot = popen("exec gnuplot >/dev/null 2>&1", "w");
    if (gnuplot == NULL)
        return dm_fail(err, DM_EIO, "gnuplot cannot be started");
    bool written = fwrite(script->data, 1, script->size, gnuplot) == script->size;
    int code = pclose(gnuplot);
    if (!written || code != 0)
        return dm_fail(err, DM_EIO, "gnuplot failed (exit code %d) on %s",
                       WIFEXITED(code) ? WEXITSTATUS(code) : -1, what);
    return DM_OK;
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
