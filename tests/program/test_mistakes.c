/* SPDX-License-Identifier: MIT */
/* Mistakes in reward programs: one clear message each, with line and, where it helps, what to do. */
#include "tests/support/test.h"
#include "tests/swarm/swarm_case.h"

#include <dotmatrix/program.h>

#include <string.h>

#define HEAD "import dotmatrix as dm\n"
#define MEMORY "@dm.memory\nclass Memory:\n"
#define STEP "@dm.program\ndef step(m: dm.Machine, out: dm.Out):\n"
#define STEP_MEMORY "@dm.program\ndef step(m: dm.Machine, mem: Memory, out: dm.Out):\n"

/* The message in the error, and what the whole of the messages holds, such as a hint. */
static const struct {
    const char *text, *message, *hint;
    int line;
} mistakes[] = {
    {HEAD STEP "    out.reward = dm.u8(m, 0xC000\n", "a bracket is not closed", "", 5},
    {HEAD STEP "    out.reward = dm.u9(m, 0xC000)\n", "the module has no 'u9' for programs",
     "did you mean 'u8'?", 4},
    {HEAD STEP "    out.reward = dm.u8(m, 0xC000)\n", "int32 cannot be stored as float32", "", 4},
    {HEAD STEP "    out.rewards = 1.0\n", "there is no out.rewards", "did you mean 'reward'?", 4},
    {HEAD STEP "    out.reward = float(m.lives)\n", "a machine has no 'lives'", "", 4},
    {HEAD STEP "    out.reward = float(dm.u8(m, \"wScore\"))\n", "wScore", "symbols=", 4},
    {HEAD STEP "    out.reward = float(dm.u8(m, 0x1C000))\n", "an address is 0 to 0xFFFF", "", 4},
    {HEAD STEP "    out.reward = float(dm.hit(m, 3))\n", "a hook is a text", "GameOver", 4},
    {HEAD STEP "    out.metric(1.0)\n", "a metric has a name and a value", "", 4},
    {HEAD STEP "    out.metric\n", "out.metric is called", "", 4},
    {HEAD STEP "    out.obs[m.step] = 1.0\n", "how many floats does it observe?", "obs=20", 3},
    {HEAD "@dm.program(obs=2)\ndef step(m: dm.Machine, out: dm.Out):\n    out.obs[5] = 1.0\n",
     "obs=2, and out.obs is written up to index 5", "", 2},
    {HEAD "@dm.program(symbol=\"a\")\ndef step(m: dm.Machine, out: dm.Out):\n    pass\n",
     "a program has no option 'symbol'", "did you mean 'symbols'?", 2},
    {HEAD "@dm.program(symbols=\"no/such.sym\")\ndef step(m: dm.Machine, out: dm.Out):\n    pass\n",
     "no/such.sym", "", 2},
    {HEAD MEMORY "    score: int\n" STEP_MEMORY "    mem.scor = 1\n",
     "the memory has no field 'scor'", "did you mean 'score'?", 7},
    {HEAD MEMORY "    a: int = 3\n" STEP_MEMORY "    pass\n", "memory is zero at the start", "", 4},
    {HEAD MEMORY "    a: int\n    a: int\n" STEP_MEMORY "    pass\n", "a second field 'a'", "", 5},
    {HEAD MEMORY "    a = 3\n" STEP_MEMORY "    pass\n", "holds fields with a type", "", 4},
    {HEAD MEMORY "    a: dm.Bitmap(9000000)\n" STEP_MEMORY "    pass\n", "from 1 to 8388608", "",
     4},
    {HEAD MEMORY "    a: dm.Array(300000)\n" STEP_MEMORY "    pass\n",
     "has more than 1048576 bytes", "", 4},
    {HEAD MEMORY "    a: dm.Array()\n" STEP_MEMORY "    pass\n", "takes its length", "", 4},
    {HEAD MEMORY "    a: wp.array(dtype=float)\n" STEP_MEMORY "    pass\n",
     "has no type that memory can hold", "", 4},
    {HEAD MEMORY "    a: int\n" STEP_MEMORY "    dm.visit(mem.a, 3)\n", "takes a Bitmap or HashSet",
     "Bitmap(4096)", 7},
    {HEAD "def step(m: dm.Machine, out: dm.Out):\n    pass\n", "there is no program in this file",
     "@dm.program", 1},
    {HEAD STEP "    pass\n" STEP "    pass\n", "there are several programs", "which one", 3},
    {HEAD "@dm.program\ndef step(m, out):\n    pass\n", "each with its type", "m: dm.Machine", 3},
    {HEAD STEP "    def inner():\n        pass\n", "nothing can be defined inside a function",
     "top of the file", 4},
    {HEAD STEP "    out.reward = float(dm.u8(m))\n", "dm.u8", "", 4},
    {HEAD STEP "    out.terminated = False, (m, \"GameOver\") or True\n", "", "", 4},
    {"from dotmatrix import u8\n" STEP "    pass\n", "programs name the module",
     "import dotmatrix as dm", 1},
};

static void each_mistake_has_one_clear_message(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        dm_program *program = NULL;
        dm_error why = {0};
        dm_status status = dm_program_create("reward.py", mistakes[i].text,
                                             strlen(mistakes[i].text), NULL, &program, &why);
        if (status != DM_ECOMPILE || strstr(why.message, mistakes[i].message) == NULL ||
            why.line != mistakes[i].line ||
            strstr(dm_program_messages(program), mistakes[i].hint) == NULL ||
            strstr(dm_program_messages(program), "_dm_") != NULL) {
            wrong++;
            print_error("%s\nstatus %d, line %d: %s\n%s\n", mistakes[i].text, (int)status, why.line,
                        why.message, dm_program_messages(program));
        }
        dm_program_destroy(program);
    }
    assert_int_equal(wrong, 0);
}

/* What only a run can tell. */
static const struct {
    const char *text, *message;
    int line;
} faults[] = {
    {HEAD
     "@dm.program(obs=4)\ndef step(m: dm.Machine, out: dm.Out):\n    out.obs[m.step + 2] = 1.0\n",
     "out of bounds", 4},
    {HEAD MEMORY "    a: dm.Array(4)\n" STEP_MEMORY "    mem.a[m.step + 2] = 1\n",
     "[4] is out of bounds, its shape is (4)", 7},
    {HEAD MEMORY "    a: dm.Bitmap(4)\n" STEP_MEMORY "    dm.visit(mem.a, m.step + 2)\n",
     "4 is outside of 0 to 3", 7},
    {HEAD MEMORY "    a: dm.HashSet(4)\n" STEP_MEMORY "    dm.visit(mem.a, 1 - m.step)\n",
     "-1 is outside of 0", 7},
    {HEAD STEP "    out.reward = float(7 // (2 - m.step))\n", "an integer is divided by zero", 4},
    {HEAD STEP "    out.reward = float(7 % (2 - m.step))\n", "an integer is divided by zero", 4},
    {HEAD STEP "    out.reward = float(7 / (2 - m.step))\n", "an integer is divided by zero", 4},
    {HEAD STEP "    i = int(0)\n    while m.step > 1:\n        i += 1\n    out.reward = float(i)\n",
     "loops take more than 1048576 rounds", 5},
    {HEAD STEP "    s = int(0)\n    for i in range(100000 * m.step):\n        for j in "
               "range(100000):\n            s += i ^ j\n"
               "    out.reward = float(s)\n",
     "loops take more than 1048576 rounds", 6},
    {HEAD "@dm.program(obs=4)\ndef step(m: dm.Machine, out: dm.Out):\n    dm.one_hot(out, m.step + "
          "1, 2, 0)\n",
     "out of bounds", 0},
};

static void each_fault_of_a_run_is_told(void **state)
{
    (void)state;
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu", &device, err));
    const dm_swarm_rom_source rom = dm_case_rom("ALU_LOOP");
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        dm_program *program = NULL;
        dm_error why = {0};
        if (dm_program_create("reward.py", faults[i].text, strlen(faults[i].text), NULL, &program,
                              &why) != DM_OK)
            fail_msg("%s\n%s\n%s", faults[i].text, why.message, dm_program_messages(program));
        const dm_swarm_desc desc = {
            .roms = &rom, .rom_count = 1, .count = 3, .frames_per_step = 1, .program = program};
        dm_swarm *swarm = NULL;
        assert_ok(dm_swarm_create(device, &desc, &swarm, err));
        dm_status status = DM_OK;
        for (int step = 0; step < 3 && status == DM_OK; step++)
            status = dm_swarm_step(swarm, NULL, &why);
        if (status != DM_EINVAL || strstr(why.message, faults[i].message) == NULL ||
            (faults[i].line != 0 && why.line != faults[i].line) ||
            strcmp(why.file, "reward.py") != 0)
            fail_msg("%s\nstatus %d, %s:%d: %s", faults[i].text, (int)status, why.file, why.line,
                     why.message);
        dm_swarm_destroy(swarm);
        dm_program_destroy(program);
    }
    dm_device_close(device);
}

/* The lowest integer divided by -1 is no number: it wraps, and nothing stops. */
static void integers_wrap(void **state)
{
    (void)state;
    static const char text[] =
        HEAD STEP "    low = int(-2147483647) - m.step\n"
                  "    out.reward = float(low // (-m.step)) + float(low % (-m.step))\n";
    dm_device *device = NULL;
    dm_program *program = NULL;
    dm_swarm *swarm = NULL;
    float reward;
    assert_ok(dm_device_open("cpu", &device, err));
    const dm_swarm_rom_source rom = dm_case_rom("ALU_LOOP");
    dm_error why = {0};
    if (dm_program_create("reward.py", text, sizeof text - 1, NULL, &program, &why) != DM_OK)
        fail_msg("%s", dm_program_messages(program));
    const dm_swarm_desc desc = {
        .roms = &rom, .rom_count = 1, .count = 1, .frames_per_step = 1, .program = program};
    /* The first look divides by -0: no step was made. */
    assert_int_equal(dm_swarm_create(device, &desc, &swarm, &why), DM_EINVAL);
    dm_program_destroy(program);
    static const char wraps[] =
        HEAD STEP "    low = int(-2147483647) - m.step\n"
                  "    if m.step > 0:\n"
                  "        out.reward = float(low // (-m.step)) + float(low % (-m.step))\n";
    assert_ok(dm_program_create("reward.py", wraps, sizeof wraps - 1, NULL, &program, err));
    const dm_swarm_desc again = {
        .roms = &rom, .rom_count = 1, .count = 1, .frames_per_step = 1, .program = program};
    assert_ok(dm_swarm_create(device, &again, &swarm, err));
    assert_ok(dm_swarm_step(swarm, NULL, err));
    assert_ok(dm_swarm_download(swarm, DM_SWARM_REWARDS, &reward, sizeof reward, err));
    assert_true(reward == -2147483648.0f);
    dm_swarm_destroy(swarm);
    dm_program_destroy(program);
    dm_device_close(device);
}

DM_TESTS("program/mistakes", DM_TEST(each_mistake_has_one_clear_message),
         DM_TEST(each_fault_of_a_run_is_told), DM_TEST(integers_wrap));
