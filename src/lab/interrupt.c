/* SPDX-License-Identifier: MIT */
/* interrupt.c - Ctrl-C as a flag. */
#include "lab/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t flag;

static void raise_flag(int number)
{
    (void)number;
    flag = 1;
}

void dm_lab_interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = raise_flag, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool dm_lab_interrupted(void)
{
    return flag != 0;
}
