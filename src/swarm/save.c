/* SPDX-License-Identifier: MIT */
/* save.c - the whole swarm as one file.
 *
 *   head        magic, version, what the swarm is, the hash of each ROM
 *   machines    one after the other: progress, start, how often it was reset, a save state (gb/host/state.h)
 *   pictures    both of each machine, where the swarm draws
 *   outputs     each array that the swarm has, so that stacks go on where they were
 *   snapshots   ROM, save state and pictures, or the mark of an empty one
 *   program     a reward program's memory of machines and snapshots, its metrics, episodes that ended
 *   hash        of all before, 16 bytes
 *
 * Numbers are little-endian. Loading takes everything apart on the host first, and touches the
 * device only when all of it is good. */
#include "base/file.h"
#include "base/require.h"
#include "gb/host/state.h"
#include "swarm/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 3u
static const char magic[8] = "dmswarm";

/* Set in the head's observations if there are final observations too. */
#define FINALS 0x10000u
#define EPISODES 0x20000u

typedef struct head {
    char magic[8];
    uint32_t version, rom_count;
    uint64_t count, seed;
    uint32_t frames_per_step, release_after_frames, observations, frame_stack;
    uint32_t observation_size, region_bytes, snapshots, codec;
    uint32_t program_stride, metrics; /* of the reward program; 0 without one */
    dm_hash128 program_layout;
} head;

/* The codec, or the list of key masks by its hash. */
static uint32_t codec_of(const dm_swarm *swarm)
{
    const uint32_t count = swarm->args.action_count;
    return swarm->desc.action_key_count == 0
               ? (uint32_t)swarm->desc.codec
               : 0x80000000u | (uint32_t)dm_hash64(swarm->args.keys, count);
}

static head head_of(const dm_swarm *swarm)
{
    const dm_swarm_desc *d = &swarm->desc;
    head h = {.version = VERSION,
              .rom_count = (uint32_t)d->rom_count,
              .count = d->count,
              .seed = d->seed,
              .frames_per_step = d->frames_per_step,
              .release_after_frames = d->release_after_frames,
              .observations =
                  d->observations | (d->finals ? FINALS : 0u) | (d->episodes ? EPISODES : 0u),
              .frame_stack = d->frame_stack,
              .observation_size = d->observation_size,
              .region_bytes = swarm->args.region_bytes,
              .snapshots = swarm->snapshot_count,
              .codec = codec_of(swarm),
              .program_stride = swarm->args.program_stride,
              .metrics = swarm->args.metric_count};
    if (swarm->program != NULL)
        h.program_layout = dm_program_memory_hash(swarm->program);
    memcpy(h.magic, magic, sizeof magic);
    return h;
}

/* ---- The device's arrays on the host ---- */

/* Arrays that are saved; MACHINES and MEMORY go through save states. */
static const int kept[] = {
    DM_SWARM_A_MACHINES,      DM_SWARM_A_MEMORY,         DM_SWARM_A_FRAMES,
    DM_SWARM_A_PROGRESS,      DM_SWARM_A_STARTS,         DM_SWARM_A_START_DRAWS,
    DM_SWARM_A_SNAP_MACHINES, DM_SWARM_A_SNAP_MEMORY,    DM_SWARM_A_SNAP_FRAMES,
    DM_SWARM_A_SNAP_ROMS,     DM_SWARM_A_PROGRAM_MEMORY, DM_SWARM_A_SNAP_PROGRAM_MEMORY,
    DM_SWARM_A_METRICS,       DM_SWARM_A_EPISODES};
#define KEPT (sizeof kept / sizeof kept[0])
/* The program's arrays, which are copied to the file as they are. */
static const int plain[] = {DM_SWARM_A_PROGRAM_MEMORY, DM_SWARM_A_SNAP_PROGRAM_MEMORY,
                            DM_SWARM_A_METRICS, DM_SWARM_A_EPISODES};
#define PLAIN (sizeof plain / sizeof plain[0])

typedef struct staging {
    uint8_t *arrays[DM_SWARM_ARRAYS];
    uint8_t *outputs[DM_SWARM_OUTPUTS];
} staging;

static dm_status staging_init(staging *s, const dm_swarm *swarm, dm_error *err)
{
    bool good = true;
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < KEPT; i++) {
        const dm_device_buffer *buffer = swarm->arrays[kept[i]];
        if (buffer != NULL)
            good = (s->arrays[kept[i]] = calloc(1, dm_device_buffer_size(buffer))) != NULL && good;
    }
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++) {
        const dm_device_buffer *buffer = swarm->bound[i];
        if (buffer != NULL)
            good = (s->outputs[i] = malloc(dm_device_buffer_size(buffer))) != NULL && good;
    }
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "swarm: no host memory for a copy of the swarm");
}

static void staging_deinit(staging *s)
{
    for (int i = 0; i < DM_SWARM_ARRAYS; i++)
        free(s->arrays[i]);
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++)
        free(s->outputs[i]);
}

static dm_status move(dm_swarm *swarm, dm_device_buffer *buffer, uint8_t *host, bool up,
                      dm_error *err)
{
    if (buffer == NULL)
        return DM_OK;
    size_t size = dm_device_buffer_size(buffer);
    return up ? dm_stream_upload(swarm->stream, buffer, 0, host, size, err)
              : dm_stream_download(swarm->stream, buffer, 0, host, size, err);
}

/* All kept arrays to the host or back. */
static dm_status move_all(dm_swarm *swarm, staging *s, bool up, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < KEPT && status == DM_OK; i++)
        status = move(swarm, swarm->arrays[kept[i]], s->arrays[kept[i]], up, err);
    for (int i = 0; i < DM_SWARM_OUTPUTS && status == DM_OK; i++)
        status = move(swarm, swarm->bound[i], s->outputs[i], up, err);
    return status == DM_OK ? dm_stream_synchronize(swarm->stream, err) : status;
}

/* One machine or snapshot: element `i` of a pair of arrays. */
static dm_gb_machine *machine_at(const dm_swarm *swarm, const staging *s, int array, uint64_t i)
{
    return (dm_gb_machine *)(void *)(s->arrays[array] + i * swarm->layout.machine_stride);
}

static uint8_t *memory_at(const dm_swarm *swarm, const staging *s, int array, uint64_t i)
{
    return s->arrays[array] + i * swarm->layout.memory_stride;
}

/* ---- Saving ---- */

static void put_all(const dm_swarm *swarm, const staging *s, dm_buffer *out)
{
    head h = head_of(swarm);
    assert(h.rom_count > 0); /* dm_swarm_create refuses none */
    dm_buffer_append(out, &h, sizeof h);
    for (uint32_t i = 0; i < h.rom_count; i++)
        dm_buffer_append(out, &swarm->views[i]->rom.hash, sizeof(dm_hash128));
    for (uint64_t i = 0; i < h.count; i++) {
        dm_buffer_append(out, s->arrays[DM_SWARM_A_PROGRESS] + i * sizeof(dm_swarm_progress),
                         sizeof(dm_swarm_progress));
        dm_buffer_append(out, s->arrays[DM_SWARM_A_STARTS] + i * 4, 4);
        dm_buffer_append(out, s->arrays[DM_SWARM_A_START_DRAWS] + i * 4, 4);
        dm_gb_state_save(machine_at(swarm, s, DM_SWARM_A_MACHINES, i),
                         memory_at(swarm, s, DM_SWARM_A_MEMORY, i),
                         &swarm->views[i % h.rom_count]->rom, out);
    }
    if (s->arrays[DM_SWARM_A_FRAMES] != NULL)
        dm_buffer_append(out, s->arrays[DM_SWARM_A_FRAMES], h.count * DM_GB_FRAMES_SIZE);
    for (int i = 0; i < DM_SWARM_OUTPUTS; i++)
        if (s->outputs[i] != NULL)
            dm_buffer_append(out, s->outputs[i], dm_device_buffer_size(swarm->bound[i]));
    for (uint32_t i = 0; i < h.snapshots; i++) {
        uint32_t rom = swarm->snapshot_roms[i];
        dm_buffer_append(out, &rom, sizeof rom);
        if (rom == DM_SWARM_NO_SNAPSHOT)
            continue;
        dm_gb_state_save(machine_at(swarm, s, DM_SWARM_A_SNAP_MACHINES, i),
                         memory_at(swarm, s, DM_SWARM_A_SNAP_MEMORY, i), &swarm->views[rom]->rom,
                         out);
        if (s->arrays[DM_SWARM_A_SNAP_FRAMES] != NULL)
            dm_buffer_append(out, s->arrays[DM_SWARM_A_SNAP_FRAMES] + (size_t)i * DM_GB_FRAMES_SIZE,
                             DM_GB_FRAMES_SIZE);
    }
    for (size_t i = 0; i < PLAIN; i++)
        if (s->arrays[plain[i]] != NULL)
            dm_buffer_append(out, s->arrays[plain[i]],
                             dm_device_buffer_size(swarm->arrays[plain[i]]));
}

dm_status dm_swarm_save(dm_swarm *swarm, const char *path, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, path);
    staging s;
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_status status = staging_init(&s, swarm, err);
    if (status == DM_OK)
        status = move_all(swarm, &s, false, err);
    if (status == DM_OK) {
        put_all(swarm, &s, &out);
        dm_hash128 hash = dm_hash128_of(out.data, out.size);
        dm_buffer_append(&out, &hash, sizeof hash);
        status = dm_buffer_check(&out, err);
    }
    if (status == DM_OK)
        status = dm_file_write(path, out.data, out.size, err);
    dm_buffer_deinit(&out);
    staging_deinit(&s);
    return status;
}

/* ---- Loading ---- */

typedef struct reader {
    const char *at, *end;
} reader;

static dm_status get(reader *r, void *to, size_t size, dm_error *err)
{
    if ((size_t)(r->end - r->at) < size)
        return dm_fail(err, DM_EFORMAT, "the file ends early");
    memcpy(to, r->at, size);
    r->at += size;
    return DM_OK;
}

/* Pictures: shades are made 0..3 whatever the file says, since kernels take larger values for the line
 * registers of spilled lines (gb/simt/line_log.h). */
static dm_status get_pictures(reader *r, uint8_t *to, size_t size, dm_error *err)
{
    dm_status status = get(r, to, size, err);
    for (size_t i = 0; i < size && status == DM_OK; i++)
        to[i] &= 3u;
    return status;
}

static dm_status get_state(reader *r, dm_gb_machine *m, uint8_t *ram, const dm_gb_rom *rom,
                           bool pictures, dm_error *err)
{
    size_t size = dm_gb_state_size(rom);
    if ((size_t)(r->end - r->at) < size)
        return dm_fail(err, DM_EFORMAT, "the file ends early");
    r->at += size;
    dm_status status = dm_gb_state_load(m, ram, rom, r->at - size, size, err);
    if (!pictures) /* whatever the file says */
        m->ppu.drawing = 0;
    return status;
}

/* Is the file of a swarm like this one? */
static dm_status check_head(const dm_swarm *swarm, reader *r, dm_error *err)
{
    head own = head_of(swarm), h;
    dm_status status = get(r, &h, sizeof h, err);
    if (status != DM_OK)
        return status;
    if (h.version != VERSION)
        return dm_fail(err, DM_EFORMAT, "version %u of the format; this library reads %u",
                       h.version, VERSION);
    if (h.count != own.count)
        return dm_fail(err, DM_EINVAL, "a swarm of %" PRIu64 " machines; this one has %" PRIu64,
                       h.count, own.count);
    if (h.rom_count != own.rom_count)
        return dm_fail(err, DM_EINVAL, "a swarm of %u ROMs; this one has %u", h.rom_count,
                       own.rom_count);
    if (h.observations != own.observations || h.frame_stack != own.frame_stack ||
        h.observation_size != own.observation_size || h.region_bytes != own.region_bytes)
        return dm_fail(err, DM_EINVAL, "a swarm with other observations");
    if (h.frames_per_step != own.frames_per_step ||
        h.release_after_frames != own.release_after_frames || h.codec != own.codec ||
        h.seed != own.seed)
        return dm_fail(err, DM_EINVAL, "a swarm with other steps, codec or seed");
    if (h.snapshots != own.snapshots)
        return dm_fail(err, DM_EINVAL, "a swarm with room for %u snapshots; this one has %u",
                       h.snapshots, own.snapshots);
    if (h.program_stride != own.program_stride || h.metrics != own.metrics ||
        memcmp(&h.program_layout, &own.program_layout, sizeof h.program_layout) != 0)
        return dm_fail(err, DM_EINVAL,
                       "a swarm with another reward program: its memory has %u bytes and %u "
                       "metrics, this one's %u and "
                       "%u, or the fields are others",
                       h.program_stride, h.metrics, own.program_stride, own.metrics);
    for (uint32_t i = 0; i < h.rom_count && status == DM_OK; i++) {
        dm_hash128 hash = {0, 0}, mine = swarm->views[i]->rom.hash;
        status = get(r, &hash, sizeof hash, err);
        if (status == DM_OK && (hash.low != mine.low || hash.high != mine.high))
            status = dm_fail(err, DM_EINVAL, "ROM %u is another one (here: \"%s\")", i,
                             swarm->views[i]->rom.title);
    }
    return status;
}

static dm_status get_snapshots(const dm_swarm *swarm, staging *s, reader *r, dm_error *err)
{
    dm_status status = DM_OK;
    for (uint32_t i = 0; i < swarm->snapshot_count && status == DM_OK; i++) {
        uint32_t rom = 0;
        status = get(r, &rom, sizeof rom, err);
        if (status != DM_OK)
            break;
        memcpy(s->arrays[DM_SWARM_A_SNAP_ROMS] + i * sizeof rom, &rom, sizeof rom);
        if (rom == DM_SWARM_NO_SNAPSHOT)
            continue;
        if (rom >= swarm->desc.rom_count)
            return dm_fail(err, DM_EFORMAT, "snapshot %u is of ROM %u", i, rom);
        status = get_state(r, machine_at(swarm, s, DM_SWARM_A_SNAP_MACHINES, i),
                           memory_at(swarm, s, DM_SWARM_A_SNAP_MEMORY, i), &swarm->views[rom]->rom,
                           s->arrays[DM_SWARM_A_SNAP_FRAMES] != NULL, err);
        if (status == DM_OK && s->arrays[DM_SWARM_A_SNAP_FRAMES] != NULL)
            status =
                get_pictures(r, s->arrays[DM_SWARM_A_SNAP_FRAMES] + (size_t)i * DM_GB_FRAMES_SIZE,
                             DM_GB_FRAMES_SIZE, err);
    }
    return status;
}

/* Machines may only start again from snapshots of their ROM. */
static dm_status check_starts(const dm_swarm *swarm, const staging *s, dm_error *err)
{
    for (uint64_t i = 0; i < swarm->desc.count; i++) {
        uint32_t snapshot, rom = DM_SWARM_NO_SNAPSHOT;
        memcpy(&snapshot, s->arrays[DM_SWARM_A_STARTS] + i * sizeof snapshot, sizeof snapshot);
        if (snapshot < swarm->snapshot_count)
            memcpy(&rom, s->arrays[DM_SWARM_A_SNAP_ROMS] + snapshot * sizeof rom, sizeof rom);
        if (rom != i % swarm->desc.rom_count)
            return dm_fail(err, DM_EFORMAT, "machine %" PRIu64 " starts from snapshot %u", i,
                           snapshot);
    }
    return DM_OK;
}

static dm_status get_all(const dm_swarm *swarm, staging *s, reader *r, dm_error *err)
{
    uint64_t count = swarm->desc.count;
    dm_status status = check_head(swarm, r, err);
    for (uint64_t i = 0; i < count && status == DM_OK; i++) {
        status = get(r, s->arrays[DM_SWARM_A_PROGRESS] + i * sizeof(dm_swarm_progress),
                     sizeof(dm_swarm_progress), err);
        if (status == DM_OK)
            status = get(r, s->arrays[DM_SWARM_A_STARTS] + i * 4, 4, err);
        if (status == DM_OK)
            status = get(r, s->arrays[DM_SWARM_A_START_DRAWS] + i * 4, 4, err);
        if (status == DM_OK)
            status = get_state(r, machine_at(swarm, s, DM_SWARM_A_MACHINES, i),
                               memory_at(swarm, s, DM_SWARM_A_MEMORY, i),
                               &swarm->views[i % swarm->desc.rom_count]->rom,
                               s->arrays[DM_SWARM_A_FRAMES] != NULL, err);
    }
    if (status == DM_OK && s->arrays[DM_SWARM_A_FRAMES] != NULL)
        status = get_pictures(r, s->arrays[DM_SWARM_A_FRAMES], count * DM_GB_FRAMES_SIZE, err);
    for (int i = 0; i < DM_SWARM_OUTPUTS && status == DM_OK; i++)
        if (s->outputs[i] != NULL)
            status = get(r, s->outputs[i], dm_device_buffer_size(swarm->bound[i]), err);
    if (status == DM_OK)
        status = get_snapshots(swarm, s, r, err);
    for (size_t i = 0; i < PLAIN && status == DM_OK; i++)
        if (s->arrays[plain[i]] != NULL)
            status =
                get(r, s->arrays[plain[i]], dm_device_buffer_size(swarm->arrays[plain[i]]), err);
    if (status == DM_OK && swarm->program != NULL) {
        dm_program_mend(swarm->program, s->arrays[DM_SWARM_A_PROGRAM_MEMORY], count);
        dm_program_mend(swarm->program, s->arrays[DM_SWARM_A_SNAP_PROGRAM_MEMORY],
                        swarm->snapshot_count);
    }
    if (status == DM_OK && r->at != r->end)
        status = dm_fail(err, DM_EFORMAT, "%zu bytes too many", (size_t)(r->end - r->at));
    return status == DM_OK ? check_starts(swarm, s, err) : status;
}

static dm_status check_hash(const char *bytes, size_t size, dm_error *err)
{
    dm_hash128 hash, right;
    if (size < sizeof(head) + sizeof hash || memcmp(bytes, magic, sizeof magic) != 0)
        return dm_fail(err, DM_EFORMAT, "this is no saved swarm");
    memcpy(&hash, bytes + size - sizeof hash, sizeof hash);
    right = dm_hash128_of(bytes, size - sizeof hash);
    if (hash.low != right.low || hash.high != right.high)
        return dm_fail(err, DM_EFORMAT, "the file is damaged or cut off: its hash does not match");
    return DM_OK;
}

dm_status dm_swarm_load(dm_swarm *swarm, const char *path, dm_error *err)
{
    DM_REQUIRE(err, swarm);
    DM_REQUIRE(err, path);
    staging s;
    char *bytes = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, 0, &bytes, &size, err);
    if (status != DM_OK)
        return status;
    status = check_hash(bytes, size, err);
    if (status == DM_OK) {
        reader r = {bytes, bytes + size - sizeof(dm_hash128)};
        status = staging_init(&s, swarm, err);
        if (status == DM_OK)
            status = get_all(swarm, &s, &r, err);
        if (status == DM_OK) {
            memcpy(swarm->snapshot_roms, s.arrays[DM_SWARM_A_SNAP_ROMS],
                   swarm->snapshot_count * sizeof(uint32_t));
            status = move_all(swarm, &s, true, err);
        }
        staging_deinit(&s);
    }
    if (status != DM_OK)
        dm_error_prefix(err, "%s", path);
    free(bytes);
    return status;
}
