/* SPDX-License-Identifier: MIT */
/* backend_libretro.c - a libretro core as a backend: one machine, of which pictures and work RAM
 * can be seen. Its steps end with pictures of its own. */
#include "lab/backend.h"
#include "lab/reference/libretro.h"

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    return dm_libretro_version(kind->core, out, size, err);
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    if (desc->start == DM_LAB_START_ZERO)
        return dm_fail(err, DM_EUNSUPPORTED,
                       "a libretro core starts as after the boot ROM; --start post-boot");
    static dm_lab_desc the_one;
    dm_status status = dm_libretro_begin(desc->core, desc->rom, desc->rom_size, err);
    the_one = *desc;
    *self = status == DM_OK ? &the_one : NULL;
    return status;
}

static void destroy(void *self)
{
    (void)self;
    dm_libretro_end();
}

static dm_status step(void *self, const uint8_t *keys, dm_error *err)
{
    const dm_lab_desc *d = self;
    (void)err;
    for (uint32_t i = 0; i < d->frames_per_step; i++) {
        dm_libretro_set_keys(i < d->release_after_frames ? keys[0] : 0);
        dm_libretro_run_frame();
    }
    return DM_OK;
}

static dm_status read_memory(void *self, uint64_t machine, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    (void)self;
    (void)machine;
    return dm_libretro_read(address, to, size, err);
}

static dm_status picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    (void)self;
    (void)machine;
    return dm_libretro_picture(shades, err);
}

const dm_lab_kind dm_lab_gambatte = {
    .name = "gambatte",
    .install = DM_LIBRETRO_GAMBATTE_INSTALL,
    .sound = "samples, unless the core heeds that none are wanted",
    .is_reference = true,
    .is_single = true,
    .always_draws = true,
    .version = version,
    .create = create,
    .destroy = destroy,
    .step = step,
    .read = read_memory,
    .picture = picture,
};
