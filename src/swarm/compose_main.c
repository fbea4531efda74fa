/* SPDX-License-Identifier: MIT */
/* compose_main.c - run by the build: all stages with the default epilog in one C file, for the CPU.
 *
 *   compose SKELETON OUTPUT */
#include "swarm/compose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int give_up(const char *what)
{
    fprintf(stderr, "compose: %s\n", what);
    return 1;
}

static void add_row(dm_buffer *text, const char *part, const char *stage)
{
    dm_buffer_printf(text, "    {\"dm_swarm_%s_%s\", dm_swarm_%s_%s, sizeof(dm_swarm_args)},\n",
                     part, stage, part, stage);
}

int main(int argc, char **argv)
{
    static char skeleton[1 << 16];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_error err = {0};
    if (argc < 3)
        return give_up("usage: compose SKELETON OUTPUT [STAGE]");
    FILE *in = fopen(argv[1], "r");
    if (in == NULL)
        return give_up("cannot open the skeleton");
    size_t size = fread(skeleton, 1, sizeof skeleton - 1, in);
    fclose(in);
    if (size == 0 || size == sizeof skeleton - 1)
        return give_up("the skeleton is empty or too long");
    dm_buffer_puts(&text, "/* Made by the build from swarm/skeleton.h. */\n");
    const char *only = argc > 3 ? argv[3] : NULL;
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        if (only != NULL && strcmp(only, dm_swarm_stage_text(stage)) != 0)
            continue;
        const dm_swarm_variant variant = {.stage = (dm_swarm_stage)stage,
                                          .vector_size = DM_SWARM_VECTOR_DEFAULT};
        if (dm_swarm_compose(skeleton, &variant, &text, &err) != DM_OK)
            return give_up(err.message);
    }
    /* The table that builder.c hands to the device layer; for one stage alone that of a test, whose
     * name the build says. */
    dm_buffer_printf(&text, "\n#include \"swarm/builder.h\"\n\nextern %s;\n%s = {\n",
                     only != NULL ? "const dm_builtin_kernel DM_SWARM_TABLE[]"
                                  : "const dm_builtin_kernel dm_swarm_builtins[DM_SWARM_BUILTINS]",
                     only != NULL ? "const dm_builtin_kernel DM_SWARM_TABLE[]"
                                  : "const dm_builtin_kernel dm_swarm_builtins[]");
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        const char *name = dm_swarm_stage_text(stage);
        if (only != NULL && strcmp(only, name) != 0)
            continue;
        add_row(&text, "step", name);
        add_row(&text, "reset", name);
        add_row(&text, "answered", name);
        if (only != NULL)
            add_row(&text, "rebalance", name);
    }
    dm_buffer_puts(&text, "};\n");
    FILE *out = fopen(argv[2], "w");
    if (text.failed || out == NULL || fwrite(text.data, 1, text.size, out) != text.size ||
        fclose(out) != 0)
        return give_up("cannot write the output");
    dm_buffer_deinit(&text);
    return 0;
}
