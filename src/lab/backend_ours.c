/* SPDX-License-Identifier: MIT */
/* backend_ours.c - our own machines as backends: one alone, a swarm on the CPU or a GPU, and one
 * with a bug put in.
 *
 * The bug: SWAP does not change its operand. */
#include "base/file.h"
#include "base/temp.h"
#include "gb/cpu/run.h"
#include "gb/host/core.h"
#include "gb/host/state.h"
#include "lab/backend.h"
#include "swarm/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- One machine ---- */

typedef struct single {
    dm_gb *gb;
    uint32_t frames, release;
    bool draw, draw_every;
    uint64_t cycles, instructions, halted; /* at the start */
    uint64_t target;                       /* wrong_single: end of the steps so far, in cycles */
} single;

static dm_status version_ours(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    (void)kind;
    (void)err;
    snprintf(out, size, "%s", dm_version_string());
    return DM_OK;
}

static dm_status single_create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    single *s = calloc(1, sizeof *s);
    if (s == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_lab_start_machine(desc, &s->gb, err);
    if (status != DM_OK) {
        free(s);
        return status;
    }
    s->frames = desc->frames_per_step;
    s->release = desc->release_after_frames;
    s->draw = desc->draw;
    s->draw_every = desc->draw_every;
    dm_gb_counters counters = dm_gb_get_counters(s->gb);
    s->cycles = s->target = counters.cycles;
    s->instructions = counters.instructions;
    s->halted = counters.halted;
    *self = s;
    return DM_OK;
}

static void single_destroy(void *self)
{
    single *s = self;
    dm_gb_destroy(s->gb);
    free(s);
}

static dm_status single_step(void *self, const uint8_t *keys, dm_error *err)
{
    single *s = self;
    (void)err;
    uint32_t rest = s->frames - s->release;
    enum dm_gb_draw draw = !s->draw        ? DM_GB_DRAW_NEVER
                           : s->draw_every ? DM_GB_DRAW_ALWAYS
                                           : DM_GB_DRAW_LAST;
    /* The last picture of a step began at most a frame before the step's last. */
    bool early = draw == DM_GB_DRAW_LAST && rest > 1;
    dm_gb_set_keys(s->gb, keys[0]);
    dm_gb_run_frames(s->gb, s->release, early ? DM_GB_DRAW_NEVER : draw);
    if (rest > 0) {
        dm_gb_set_keys(s->gb, 0);
        dm_gb_run_frames(s->gb, rest, draw);
    }
    return DM_OK;
}

static dm_status single_look(void *self, uint64_t machine, dm_lab_view *out, dm_error *err)
{
    single *s = self;
    (void)machine;
    (void)err;
    dm_gb_counters c = dm_gb_get_counters(s->gb);
    *out = (dm_lab_view){.registers = dm_gb_get_registers(s->gb),
                         .has_cycles = true,
                         .has_instructions = true,
                         .cycles = c.cycles - s->cycles,
                         .instructions = c.instructions - s->instructions,
                         .halted = c.halted - s->halted};
    return DM_OK;
}

static dm_status single_read(void *self, uint64_t machine, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    single *s = self;
    (void)machine;
    (void)err;
    for (size_t i = 0; i < size; i++)
        to[i] = dm_gb_peek(s->gb, (uint16_t)(address + i));
    return DM_OK;
}

static dm_status single_picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    single *s = self;
    (void)machine;
    (void)err;
    memcpy(shades, dm_gb_frame(s->gb), (size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H);
    return DM_OK;
}

static dm_status save_machine(const dm_gb *gb, dm_buffer *out, dm_error *err)
{
    dm_gb_state_save(&gb->machine, gb->ram, &gb->rom, out);
    return dm_buffer_check(out, err);
}

static dm_status single_save(void *self, uint64_t machine, dm_buffer *out, dm_error *err)
{
    single *s = self;
    (void)machine;
    return save_machine(s->gb, out, err);
}

static void single_set_keys(void *self, uint8_t keys)
{
    dm_gb_set_keys(((single *)self)->gb, keys);
}

/* No HALT that something ends lasts longer than this many M-cycles: the timer's whole round. */
#define HALT_MOST 300000

static void single_instruction(void *self)
{
    single *s = self;
    if (!dm_gb_get_registers(s->gb).halted)
        dm_gb_step(s->gb);
    for (unsigned i = 0; i < HALT_MOST && dm_gb_get_registers(s->gb).halted; i++)
        dm_gb_step(s->gb);
}

/* `cycles` of the machine were 0 of the fork's. */
static dm_status fork_machine(const dm_gb *gb, const dm_lab_desc *desc, uint64_t cycles,
                              const dm_lab_kind *kind, dm_lab_backend *out, dm_error *err)
{
    dm_lab_desc one = *desc;
    one.count = 1;
    dm_status status = dm_lab_backend_create(kind, &one, out, err);
    if (status != DM_OK)
        return status;
    single *s = out->self;
    s->gb->machine = gb->machine;
    memcpy(s->gb->ram, gb->ram, gb->ram_size);
    dm_gb_map(&s->gb->context);
    s->cycles = cycles;
    return DM_OK;
}

static dm_status single_fork(void *self, uint64_t machine, const dm_lab_desc *desc,
                             dm_lab_backend *out, dm_error *err)
{
    const single *s = self;
    (void)machine;
    return fork_machine(s->gb, desc, s->cycles, &dm_lab_single, out, err);
}

static dm_status wrong_fork(void *self, uint64_t machine, const dm_lab_desc *desc,
                            dm_lab_backend *out, dm_error *err)
{
    const single *s = self;
    (void)machine;
    return fork_machine(s->gb, desc, s->cycles, &dm_lab_wrong, out, err);
}

const dm_lab_kind dm_lab_single = {
    .name = "single",
    .sound = DM_LAB_SOUND_REGISTERS,
    .is_single = true,
    .version = version_ours,
    .create = single_create,
    .destroy = single_destroy,
    .step = single_step,
    .look = single_look,
    .read = single_read,
    .picture = single_picture,
    .save = single_save,
    .set_keys = single_set_keys,
    .step_instruction = single_instruction,
    .fork = single_fork,
};

/* ---- One machine with a bug ---- */

static uint8_t swap_nibbles(uint8_t value)
{
    return (uint8_t)(value << 4 | value >> 4);
}

static void wrong_one(dm_gb *gb)
{
    dm_gb_cpu *cpu = &gb->machine.cpu;
    uint16_t pc = cpu->pc, hl = (uint16_t)(cpu->h << 8 | cpu->l);
    uint8_t first = dm_gb_peek(gb, pc), second = dm_gb_peek(gb, (uint16_t)(pc + 1));
    dm_gb_step(gb);
    if (first != 0xCB || (second & 0xF8u) != 0x30 || cpu->pc != (uint16_t)(pc + 2))
        return;
    switch (second & 7u) {
    case 0:
        cpu->b = swap_nibbles(cpu->b);
        break;
    case 1:
        cpu->c = swap_nibbles(cpu->c);
        break;
    case 2:
        cpu->d = swap_nibbles(cpu->d);
        break;
    case 3:
        cpu->e = swap_nibbles(cpu->e);
        break;
    case 4:
        cpu->h = swap_nibbles(cpu->h);
        break;
    case 5:
        cpu->l = swap_nibbles(cpu->l);
        break;
    case 6:
        dm_gb_poke(gb, hl, swap_nibbles(dm_gb_peek(gb, hl)));
        break;
    default:
        cpu->a = swap_nibbles(cpu->a);
        break;
    }
}

static void wrong_frames(single *s, uint32_t frames)
{
    s->target += (uint64_t)frames * DM_GB_FRAME_CYCLES;
    while (dm_gb_get_counters(s->gb).cycles < s->target)
        wrong_one(s->gb);
}

static dm_status wrong_step(void *self, const uint8_t *keys, dm_error *err)
{
    single *s = self;
    (void)err;
    dm_gb_set_keys(s->gb, keys[0]);
    wrong_frames(s, s->release);
    if (s->frames > s->release) {
        dm_gb_set_keys(s->gb, 0);
        wrong_frames(s, s->frames - s->release);
    }
    return DM_OK;
}

static void wrong_instruction(void *self)
{
    single *s = self;
    if (!dm_gb_get_registers(s->gb).halted)
        wrong_one(s->gb);
    for (unsigned i = 0; i < HALT_MOST && dm_gb_get_registers(s->gb).halted; i++)
        wrong_one(s->gb);
}

const dm_lab_kind dm_lab_wrong = {
    .name = "wrong_single",
    .sound = DM_LAB_SOUND_REGISTERS,
    .is_single = true,
    .version = version_ours,
    .create = single_create,
    .destroy = single_destroy,
    .step = wrong_step,
    .look = single_look,
    .read = single_read,
    .picture = single_picture,
    .save = single_save,
    .set_keys = single_set_keys,
    .step_instruction = wrong_instruction,
    .fork = wrong_fork,
};

/* ---- A swarm ---- */

typedef struct vec {
    dm_device *device;
    dm_swarm *swarm;
    uint64_t cycles, instructions, halted; /* at the start */
    /* Compared regions are an observation: a step gathers them, and only they are copied. */
    dm_swarm_region regions[DM_LAB_REGIONS_MAX];
    size_t region_count, region_bytes; /* the latter of one machine */
    uint8_t *bytes;                    /* of all machines */
    bool bytes_are_new;
} vec;

static void vec_destroy(void *self)
{
    vec *v = self;
    dm_swarm_destroy(v->swarm);
    dm_device_close(v->device);
    free(v->bytes);
    free(v);
}

/* The name of a file in a temporary folder of its own; an empty name when there is none. */
static dm_status make_file(char *path, size_t size, dm_error *err)
{
    char folder[DM_PATH_MAX];
    dm_status status = dm_temp_folder(folder, NULL, err);
    path[0] = 0;
    if (status == DM_OK && snprintf(path, size, "%s/state", folder) >= (int)size) {
        dm_dir_remove(folder, NULL);
        path[0] = 0;
        status = dm_fail(err, DM_EIO, "%s: too long a path", folder);
    }
    return status;
}

/* The file and its folder. */
static void remove_file(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return;
    *slash = 0;
    dm_dir_remove(path, NULL);
    path[0] = 0;
}

/* The start as a file, which is how a swarm takes one. */
static dm_status write_start(const dm_lab_desc *desc, char *path, size_t size, dm_error *err)
{
    dm_gb *gb = NULL;
    dm_status status = make_file(path, size, err);
    if (status == DM_OK)
        status = dm_lab_start_machine(desc, &gb, err);
    if (status == DM_OK)
        status = dm_gb_save_state(gb, path, err);
    dm_gb_destroy(gb);
    return status;
}

static dm_status gather_regions(vec *v, const dm_lab_desc *desc, dm_error *err)
{
    for (size_t i = 0; i < desc->region_count; i++) {
        dm_swarm_region r = desc->regions[i];
        if (r.address + r.size > 0xFF00u && r.address < 0xFF80u)
            continue; /* a swarm does not observe registers; they are read one by one */
        v->regions[v->region_count++] = r;
        v->region_bytes += r.size;
    }
    if (v->region_count > 0)
        v->bytes = malloc(v->region_bytes * desc->count);
    return v->region_count == 0 || v->bytes != NULL ? DM_OK
                                                    : dm_fail(err, DM_ENOMEM, "out of memory");
}

static dm_status create_swarm(vec *v, const dm_lab_desc *desc, dm_error *err)
{
    char start[DM_PATH_MAX] = "";
    dm_swarm_rom_source rom = {.bytes = desc->rom, .size = desc->rom_size};
    dm_swarm_desc d = {.roms = &rom,
                       .rom_count = 1,
                       .count = desc->count,
                       .frames_per_step = desc->frames_per_step,
                       .release_after_frames = desc->release_after_frames,
                       .stage = desc->stage,
                       .codec = DM_SWARM_RAW_KEYS,
                       .generator = desc->generator,
                       .seed = desc->seed,
                       .autoreset = DM_SWARM_DISABLED,
                       .snapshots = desc->copies,
                       .observations = desc->observations | (desc->draw ? DM_SWARM_OBS_SHADES : 0)};
    /* Made-up actions are the codec's, as those that references are given (actions.h). */
    if (desc->generator != DM_SWARM_NOOP)
        d.codec = desc->codec;
    d.force_dmg = desc->force_dmg;
    d.keep_idle_loops = desc->keep_idle_loops;
    d.hooks = desc->hooks;
    d.hook_count = desc->hook_count;
    d.lanes_per_warp = desc->lanes_per_warp;
    d.block_threads = desc->block_threads;
    d.blocks_per_multiprocessor = desc->blocks_per_multiprocessor;
    dm_status status = gather_regions(v, desc, err);
    if (v->region_count > 0) {
        d.observations |= DM_SWARM_OBS_REGIONS;
        d.regions = v->regions;
        d.region_count = v->region_count;
    }
    if (desc->start == DM_LAB_START_ZERO) {
        d.start = DM_GB_START_ZERO;
    } else if (status == DM_OK && desc->start == DM_LAB_START_POST_BOOT) {
        status = write_start(desc, start, sizeof start, err);
        rom.state = start;
    } else if (desc->start == DM_LAB_START_STATE) {
        rom.state = desc->state;
    }
    if (status == DM_OK)
        status = dm_swarm_create(v->device, &d, &v->swarm, err);
    if (start[0] != 0)
        remove_file(start);
    return status;
}

static dm_status vec_create(const char *device, const dm_lab_desc *desc, void **self, dm_error *err)
{
    vec *v = calloc(1, sizeof *v);
    if (v == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_device_open(device, &v->device, err);
    if (status == DM_OK && desc->draw_every && desc->frames_per_step > 1)
        status = dm_fail(err, DM_EUNSUPPORTED,
                         "a swarm draws the last picture of a step: "
                         "--frames-per-step 1");
    if (status == DM_OK)
        status = create_swarm(v, desc, err);
    dm_gb_counters counters = {0};
    uint32_t machine = 0;
    if (status == DM_OK)
        status = dm_swarm_get_counters(v->swarm, &machine, 1, &counters, err);
    if (status != DM_OK) {
        vec_destroy(v);
        return status;
    }
    v->cycles = counters.cycles;
    v->instructions = counters.instructions;
    v->halted = counters.halted;
    *self = v;
    return DM_OK;
}

static dm_status cpu_create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    char device[32] = "cpu";
    if (desc->workers > 0)
        snprintf(device, sizeof device, "cpu:%d", desc->workers);
    return vec_create(device, desc, self, err);
}

static dm_status cuda_create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    return vec_create("cuda", desc, self, err);
}

static dm_status vec_step(void *self, const uint8_t *keys, dm_error *err)
{
    vec *v = self;
    v->bytes_are_new = false;
    if (keys == NULL)
        return dm_swarm_step(v->swarm, NULL, err);
    dm_status status = dm_swarm_step_host(v->swarm, keys, dm_swarm_get_info(v->swarm).count, err);
    /* The caller's keys must stay until they are read. */
    return status != DM_OK ? status : dm_stream_synchronize(dm_swarm_stream(v->swarm), err);
}

static dm_status vec_synchronize(void *self, dm_error *err)
{
    return dm_stream_synchronize(dm_swarm_stream(((vec *)self)->swarm), err);
}

static dm_status vec_look(void *self, uint64_t machine, dm_lab_view *out, dm_error *err)
{
    vec *v = self;
    uint32_t number = (uint32_t)machine;
    dm_gb_counters c;
    *out = (dm_lab_view){.has_cycles = true, .has_instructions = true};
    dm_status status = dm_swarm_get_registers(v->swarm, &number, 1, &out->registers, err);
    if (status == DM_OK)
        status = dm_swarm_get_counters(v->swarm, &number, 1, &c, err);
    if (status == DM_OK) {
        out->cycles = c.cycles - v->cycles;
        out->instructions = c.instructions - v->instructions;
        out->halted = c.halted - v->halted;
    }
    return status;
}

static dm_status vec_read(void *self, uint64_t machine, uint16_t address, uint8_t *to, size_t size,
                          dm_error *err)
{
    vec *v = self;
    size_t at = 0, i = 0;
    while (i < v->region_count && (v->regions[i].address != address || v->regions[i].size != size))
        at += v->regions[i++].size;
    if (i == v->region_count)
        return dm_swarm_read(v->swarm, (uint32_t)machine, address, to, size, err);
    if (!v->bytes_are_new) {
        size_t all = v->region_bytes * dm_swarm_get_info(v->swarm).count;
        dm_status status = dm_swarm_download(v->swarm, DM_SWARM_REGION_BYTES, v->bytes, all, err);
        if (status != DM_OK)
            return status;
        v->bytes_are_new = true;
    }
    memcpy(to, v->bytes + machine * v->region_bytes + at, size);
    return DM_OK;
}

static dm_status vec_picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    return dm_swarm_get_picture(((vec *)self)->swarm, (uint32_t)machine, shades, err);
}

static dm_status vec_save(void *self, uint64_t machine, dm_buffer *out, dm_error *err)
{
    dm_gb *view = NULL;
    dm_status status = dm_swarm_fetch(((vec *)self)->swarm, (uint32_t)machine, &view, err);
    return status != DM_OK ? status : save_machine(view, out, err);
}

static dm_status vec_fork(void *self, uint64_t machine, const dm_lab_desc *desc,
                          dm_lab_backend *out, dm_error *err)
{
    vec *v = self;
    dm_gb *view = NULL;
    dm_status status = dm_swarm_fetch(v->swarm, (uint32_t)machine, &view, err);
    return status != DM_OK ? status : fork_machine(view, desc, v->cycles, &dm_lab_single, out, err);
}

/* The first machines take the others' states. A swarm with more of them keeps these as snapshots, for
 * which `create` made room, and resets all to them. */
static dm_status take_states(vec *v, vec *from, uint32_t count, uint32_t *numbers, dm_error *err)
{
    size_t each = dm_swarm_state_bytes(from->swarm), size = count * each;
    uint8_t *states = malloc(size);
    dm_status status = states != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    if (status == DM_OK)
        status = dm_swarm_save_states(from->swarm, numbers, count, states, size, err);
    if (status == DM_OK)
        status = dm_swarm_load_states(v->swarm, numbers, count, states, size, err);
    free(states);
    return status;
}

static dm_status repeat_states(vec *v, uint32_t few, uint64_t count, uint32_t *numbers,
                               dm_error *err)
{
    dm_stream *stream = dm_swarm_stream(v->swarm);
    size_t size = count * sizeof *numbers;
    dm_device_buffer *buffer = NULL;
    dm_status status = DM_OK;
    for (uint32_t i = 0; i < few && status == DM_OK; i++)
        status = dm_swarm_snapshot(v->swarm, i, 1 + i, err);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = 1 + (uint32_t)(i % few);
    if (status == DM_OK)
        status = dm_device_buffer_create(v->device, size, &buffer, err);
    if (status == DM_OK)
        status = dm_stream_upload(stream, buffer, 0, numbers, size, err);
    if (status == DM_OK)
        status = dm_swarm_reset(v->swarm, NULL, dm_device_buffer_address(buffer), err);
    if (status == DM_OK)
        status = dm_stream_synchronize(stream, err);
    dm_device_buffer_destroy(buffer);
    return status;
}

static dm_status vec_copy_from(void *self, void *others, uint64_t few, dm_error *err)
{
    vec *v = self;
    uint64_t count = dm_swarm_get_info(v->swarm).count;
    uint32_t *numbers = malloc(count * sizeof *numbers);
    assert(few > 0);
    if (numbers == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = take_states(v, others, (uint32_t)(few < count ? few : count), numbers, err);
    if (status == DM_OK && few < count)
        status = repeat_states(v, (uint32_t)few, count, numbers, err);
    free(numbers);
    return status;
}

static dm_status vec_launch(void *self, dm_lab_launch *out, dm_error *err)
{
    vec *v = self;
    dm_swarm_info info = dm_swarm_get_info(v->swarm);
    *out = (dm_lab_launch){.bytes_per_machine = info.bytes_per_machine};
    if (dm_device_get_properties(v->device)->kind != DM_DEVICE_CUDA)
        return DM_OK;
    dm_function_properties properties = {0};
    dm_status status = dm_swarm_kernel_properties(v->swarm, &properties, err);
    out->lanes_per_warp = info.lanes_per_warp;
    out->block_threads = info.block_threads;
    out->registers = properties.registers;
    out->local_bytes = properties.local_bytes;
    return status;
}

static dm_status version_cuda(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cuda)
        return dm_fail(err, DM_EUNAVAILABLE, "%s", tools.cuda_reason);
    return version_ours(kind, out, size, err);
}

/* clang-format off */
/* The same on every device. */
#define VEC_FUNCTIONS                                                                                                  \
    .sound = DM_LAB_SOUND_REGISTERS, .alone = &dm_lab_single, .destroy = vec_destroy, .step = vec_step,                \
    .synchronize = vec_synchronize, .look = vec_look, .read = vec_read, .picture = vec_picture, .save = vec_save,      \
    .fork = vec_fork, .copy_from = vec_copy_from, .launch = vec_launch
/* clang-format on */

const dm_lab_kind dm_lab_vec_cpu = {
    .name = "vec_cpu", .version = version_ours, .create = cpu_create, VEC_FUNCTIONS};

const dm_lab_kind dm_lab_vec_cuda = {
    .name = "vec_cuda", .version = version_cuda, .create = cuda_create, VEC_FUNCTIONS};
