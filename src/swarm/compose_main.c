/* SPDX-License-Identifier: MIT */
/* compose_main.c - run by the build: all stages with the default epilog in one C file, for the CPU.
 *
 *   compose SKELETON OUTPUT */
#include "swarm/compose.h"

#include <stdio.h>
#include <stdlib.h>

static int give_up(const char *what)
{
    fprintf(stderr, "compose: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    static char skeleton[1 << 16];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_error err = {0};
    if (argc != 3)
        return give_up("usage: compose SKELETON OUTPUT");
    FILE *in = fopen(argv[1], "r");
    if (in == NULL)
        return give_up("cannot open the skeleton");
    size_t size = fread(skeleton, 1, sizeof skeleton - 1, in);
    fclose(in);
    if (size == 0 || size == sizeof skeleton - 1)
        return give_up("the skeleton is empty or too long");
    dm_buffer_puts(&text, "/* Made by the build from swarm/skeleton.h. */\n");
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        dm_swarm_variant variant = {(dm_swarm_stage)stage, DM_SWARM_VECTOR_DEFAULT, NULL, false};
        if (dm_swarm_compose(skeleton, &variant, &text, &err) != DM_OK)
            return give_up(err.message);
    }
    /* The table that builder.c hands to the device layer. */
    dm_buffer_puts(&text, "\n#include \"swarm/builder.h\"\n\n"
                          "const dm_builtin_kernel dm_swarm_builtins[] = {\n");
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        const char *name = dm_swarm_stage_text(stage);
        dm_buffer_printf(&text,
                         "    {\"dm_swarm_step_%s\", dm_swarm_step_%s, sizeof(dm_swarm_args)},\n"
                         "    {\"dm_swarm_reset_%s\", dm_swarm_reset_%s, sizeof(dm_swarm_args)},\n",
                         name, name, name, name);
    }
    dm_buffer_puts(&text, "};\n");
    FILE *out = fopen(argv[2], "w");
    if (text.failed || out == NULL || fwrite(text.data, 1, text.size, out) != text.size ||
        fclose(out) != 0)
        return give_up("cannot write the output");
    dm_buffer_deinit(&text);
    return 0;
}
