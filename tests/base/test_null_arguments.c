/* SPDX-License-Identifier: MIT */
/* Every public function given NULL for each pointer that it needs: an error that names the function, or no effect where
 * there is no status to give. The headers are read to see that none is left out. */
#include "base/file.h"
#include "tests/support/test.h"

#include <dotmatrix/device.h>
#include <dotmatrix/dynamics.h>
#include <dotmatrix/gb.h>
#include <dotmatrix/kernel.h>
#include <dotmatrix/nn.h>
#include <dotmatrix/swarm.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS DM_TEST_SOURCE_ROOT "/include/dotmatrix/"

/* The calls as they stand below, one after the other. */
static char called[65536];

static void note(const char *call)
{
    size_t used = strlen(called);
    int more = snprintf(called + used, sizeof called - used, "%s\n", call);
    assert_true(more > 0 && (size_t)more < sizeof called - used);
}

static void refused(const char *call, dm_status status, const dm_error *err)
{
    size_t name = strcspn(call, "(");
    if (status != DM_EINVAL || strncmp(err->message, call, name) != 0 ||
        strstr(err->message, " is NULL") == NULL)
        fail_msg("%s: %s: %s", call, dm_status_name(status), err->message);
}

#define REFUSES(call)                                                                              \
    do {                                                                                           \
        dm_error e = {0};                                                                          \
        note(#call);                                                                               \
        dm_status status_ = (call);                                                                \
        refused(#call, status_, &e);                                                               \
    } while (0)
#define SURVIVES(call)                                                                             \
    do {                                                                                           \
        dm_error e = {0};                                                                          \
        (void)e;                                                                                   \
        note(#call);                                                                               \
        (void)(call);                                                                              \
    } while (0)

/* Is the name of a function in a call, whole? */
static bool is_called(const char *name, size_t length)
{
    for (const char *at = called; (at = strstr(at, "dm_")) != NULL; at += 3)
        if (strncmp(at, name, length) == 0 && at[length] == '(')
            return true;
    return false;
}

/* Take no pointer. */
static const char *const without[] = {
    "dm_swarm_stage_name",       "dm_swarm_codec_name",    "dm_swarm_generator_name",
    "dm_swarm_autoreset_name",   "dm_swarm_codec_actions", "dm_swarm_codec_keys",
    "dm_swarm_observation_name", "dm_device_count",
};

static bool takes_none(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        if (strlen(without[i]) == length && strncmp(without[i], name, length) == 0)
            return true;
    return false;
}

/* Every declaration of a header is in a row above or takes no pointer. */
static void header_is_covered(const char *header)
{
    char path[1024], *text = NULL;
    size_t size = 0, count = 0;
    snprintf(path, sizeof path, "%s%s", HEADERS, header);
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    for (const char *at = text; (at = strstr(at, "DM_API ")) != NULL; count++) {
        at += strlen("DM_API ");
        const char *open = strchr(at, '(');
        assert_non_null(open);
        const char *name = open;
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        size_t length = (size_t)(open - name);
        if (!is_called(name, length) && !takes_none(name, length))
            fail_msg("%s: %.*s is not tried with NULL", header, (int)length, name);
    }
    assert_true(count > 10);
    free(text);
}

static void null_is_refused_everywhere(void **state)
{
    (void)state;
    static long long
        scratch[512]; /* pointers that are not NULL; a call that is refused follows none */
    void *any = scratch;
    REFUSES(dm_gb_create(NULL, 1, NULL, any, &e));
    REFUSES(dm_gb_create(any, 1, NULL, NULL, &e));
    REFUSES(dm_gb_create_file(NULL, NULL, any, &e));
    REFUSES(dm_gb_create_file(any, NULL, NULL, &e));
    SURVIVES(dm_gb_destroy(NULL));
    SURVIVES(dm_gb_reset(NULL));
    SURVIVES(dm_gb_set_keys(NULL, 1));
    SURVIVES(dm_gb_run_frames(NULL, 1, 0));
    SURVIVES(dm_gb_run_cycles(NULL, 1, 0));
    SURVIVES(dm_gb_step(NULL));
    SURVIVES(dm_gb_run_to(NULL, NULL, 1, 1));
    REFUSES(dm_gb_hook_parse(any, NULL, any, &e));
    REFUSES(dm_gb_hook_parse(any, any, NULL, &e));
    REFUSES(dm_gb_set_hooks(NULL, any, 1, &e));
    REFUSES(dm_gb_set_hooks(any, NULL, 1, &e));
    SURVIVES(dm_gb_take_hooks(NULL));
    SURVIVES(dm_gb_run_stops(NULL, 1, 0, NULL, 1, NULL));
    SURVIVES(dm_gb_bank(NULL, 1));
    REFUSES(dm_gb_read_bank(NULL, 0, 0, any, 1, &e));
    REFUSES(dm_gb_write_bank(NULL, 0, 0, any, 1, &e));
    SURVIVES(dm_gb_frame(NULL));
    SURVIVES(dm_gb_get_registers(NULL));
    SURVIVES(dm_gb_get_counters(NULL));
    SURVIVES(dm_gb_peek(NULL, 1));
    SURVIVES(dm_gb_poke(NULL, 1, 1));
    SURVIVES(dm_gb_serial_output(NULL, NULL));
    SURVIVES(dm_gb_serial_clear(NULL));
    REFUSES(dm_gb_save_state(NULL, any, &e));
    REFUSES(dm_gb_save_state(any, NULL, &e));
    REFUSES(dm_gb_load_state(NULL, any, &e));
    REFUSES(dm_gb_load_state(any, NULL, &e));
    SURVIVES(dm_gb_state_bytes(NULL));
    REFUSES(dm_gb_save_state_bytes(NULL, any, 1, &e));
    REFUSES(dm_gb_save_state_bytes(any, NULL, 1, &e));
    REFUSES(dm_gb_load_state_bytes(NULL, any, 1, &e));
    REFUSES(dm_gb_load_state_bytes(any, NULL, 1, &e));
    REFUSES(dm_gb_save_battery(NULL, any, 1, &e));
    REFUSES(dm_gb_save_battery(any, NULL, 1, &e));
    REFUSES(dm_gb_load_battery(NULL, any, 1, &e));
    REFUSES(dm_gb_load_battery(any, NULL, 1, &e));
    REFUSES(dm_swarm_stage_parse(NULL, any, &e));
    REFUSES(dm_swarm_stage_parse(any, NULL, &e));
    REFUSES(dm_swarm_codec_parse(NULL, any, &e));
    REFUSES(dm_swarm_codec_parse(any, NULL, &e));
    REFUSES(dm_swarm_generator_parse(NULL, any, &e));
    REFUSES(dm_swarm_generator_parse(any, NULL, &e));
    REFUSES(dm_swarm_observation_parse(NULL, any, &e));
    REFUSES(dm_swarm_observation_parse(any, NULL, &e));
    REFUSES(dm_swarm_autoreset_parse(NULL, any, &e));
    REFUSES(dm_swarm_autoreset_parse(any, NULL, &e));
    REFUSES(dm_swarm_create(NULL, any, any, &e));
    REFUSES(dm_swarm_create(any, NULL, any, &e));
    REFUSES(dm_swarm_create(any, any, NULL, &e));
    SURVIVES(dm_swarm_destroy(NULL));
    REFUSES(dm_swarm_warm_up(NULL, any, &e));
    REFUSES(dm_swarm_warm_up(any, NULL, &e));
    SURVIVES(dm_swarm_get_info(NULL));
    REFUSES(dm_swarm_kernel_properties(NULL, any, &e));
    REFUSES(dm_swarm_kernel_properties(any, NULL, &e));
    REFUSES(dm_swarm_set_stream(NULL, NULL, &e));
    REFUSES(dm_swarm_set_program(NULL, any, &e));
    REFUSES(dm_swarm_get_metrics(NULL, any, 1, false, &e));
    SURVIVES(dm_swarm_stream(NULL));
    REFUSES(dm_swarm_step(NULL, NULL, &e));
    REFUSES(dm_swarm_step_host(NULL, any, 1, &e));
    REFUSES(dm_swarm_step_host(any, NULL, 1, &e));
    REFUSES(dm_swarm_reset(NULL, NULL, NULL, &e));
    REFUSES(dm_swarm_reset_host(NULL, any, NULL, 1, &e));
    REFUSES(dm_swarm_reset_host(any, NULL, NULL, 1, &e));
    REFUSES(dm_swarm_get_faults(NULL, any, &e));
    REFUSES(dm_swarm_get_faults(any, NULL, &e));
    SURVIVES(dm_swarm_output_size(NULL, 0));
    SURVIVES(dm_swarm_output(NULL, 0));
    REFUSES(dm_swarm_bind(NULL, 0, NULL, &e));
    REFUSES(dm_swarm_download(NULL, 0, any, 1, &e));
    REFUSES(dm_swarm_download(any, 0, NULL, 1, &e));
    REFUSES(dm_swarm_get_registers(NULL, any, 1, any, &e));
    REFUSES(dm_swarm_get_registers(any, NULL, 1, any, &e));
    REFUSES(dm_swarm_get_registers(any, any, 1, NULL, &e));
    REFUSES(dm_swarm_get_counters(NULL, any, 1, any, &e));
    REFUSES(dm_swarm_get_counters(any, NULL, 1, any, &e));
    REFUSES(dm_swarm_get_counters(any, any, 1, NULL, &e));
    REFUSES(dm_swarm_read(NULL, 1, 1, any, 1, &e));
    REFUSES(dm_swarm_read(any, 1, 1, NULL, 1, &e));
    REFUSES(dm_swarm_poke(NULL, 1, 1, 1, &e));
    REFUSES(dm_swarm_read_many(NULL, any, 1, any, 1, any, &e));
    REFUSES(dm_swarm_read_many(any, any, 1, NULL, 1, any, &e));
    REFUSES(dm_swarm_read_many(any, any, 1, any, 1, NULL, &e));
    REFUSES(dm_swarm_poke_many(NULL, any, 1, any, 1, any, &e));
    REFUSES(dm_swarm_poke_many(any, any, 1, NULL, 1, any, &e));
    REFUSES(dm_swarm_poke_many(any, any, 1, any, 1, NULL, &e));
    REFUSES(dm_swarm_poke_snapshots(NULL, any, 1, any, 1, any, &e));
    REFUSES(dm_swarm_poke_snapshots(any, NULL, 1, any, 1, any, &e));
    REFUSES(dm_swarm_poke_snapshots(any, any, 1, NULL, 1, any, &e));
    REFUSES(dm_swarm_poke_snapshots(any, any, 1, any, 1, NULL, &e));
    REFUSES(dm_swarm_set_starts(NULL, any, NULL, 1, &e));
    REFUSES(dm_swarm_set_starts(any, NULL, NULL, 1, &e));
    SURVIVES(dm_swarm_start_choices(NULL));
    REFUSES(dm_swarm_count_starts(NULL, 1, any, &e));
    REFUSES(dm_swarm_count_starts(any, 1, NULL, &e));
    REFUSES(dm_swarm_get_hooks(NULL, any, 1, &e));
    REFUSES(dm_swarm_get_hooks(any, NULL, 1, &e));
    SURVIVES(dm_swarm_hook_bits(NULL));
    REFUSES(dm_swarm_get_picture(NULL, 1, any, &e));
    REFUSES(dm_swarm_get_picture(any, 1, NULL, &e));
    REFUSES(dm_swarm_save_machine(NULL, 1, any, &e));
    REFUSES(dm_swarm_save_machine(any, 1, NULL, &e));
    SURVIVES(dm_swarm_state_bytes(NULL));
    REFUSES(dm_swarm_save_states(NULL, any, 1, any, 1, &e));
    REFUSES(dm_swarm_save_states(any, NULL, 1, any, 1, &e));
    REFUSES(dm_swarm_save_states(any, any, 1, NULL, 1, &e));
    REFUSES(dm_swarm_load_states(NULL, any, 1, any, 1, &e));
    REFUSES(dm_swarm_load_states(any, NULL, 1, any, 1, &e));
    REFUSES(dm_swarm_load_states(any, any, 1, NULL, 1, &e));
    REFUSES(dm_swarm_snapshot(NULL, 1, 1, &e));
    REFUSES(dm_swarm_snapshot_load(NULL, 1, any, 1, &e));
    REFUSES(dm_swarm_snapshot_load(any, 1, NULL, 1, &e));
    REFUSES(dm_swarm_save(NULL, any, &e));
    REFUSES(dm_swarm_save(any, NULL, &e));
    REFUSES(dm_swarm_load(NULL, any, &e));
    REFUSES(dm_swarm_load(any, NULL, &e));
    REFUSES(dm_device_open(NULL, any, &e));
    REFUSES(dm_device_open(any, NULL, &e));
    SURVIVES(dm_device_close(NULL));
    SURVIVES(dm_device_get_properties(NULL));
    REFUSES(dm_device_memory_free(NULL, any, &e));
    REFUSES(dm_device_memory_free(any, NULL, &e));
    SURVIVES(dm_device_list(NULL, 1));
    SURVIVES(dm_device_tools_find(NULL));
    REFUSES(dm_device_buffer_create(NULL, 1, any, &e));
    REFUSES(dm_device_buffer_create(any, 1, NULL, &e));
    REFUSES(dm_device_buffer_import(NULL, NULL, 1, any, &e));
    REFUSES(dm_device_buffer_import(any, NULL, 1, NULL, &e));
    SURVIVES(dm_device_buffer_destroy(NULL));
    SURVIVES(dm_device_buffer_size(NULL));
    SURVIVES(dm_device_buffer_address(NULL));
    REFUSES(dm_device_host_alloc(NULL, 1, any, &e));
    REFUSES(dm_device_host_alloc(any, 1, NULL, &e));
    SURVIVES(dm_device_host_free(NULL, NULL));
    REFUSES(dm_stream_upload(NULL, any, 1, any, 1, &e));
    REFUSES(dm_stream_upload(any, NULL, 1, any, 1, &e));
    REFUSES(dm_stream_upload(any, any, 1, NULL, 1, &e));
    REFUSES(dm_stream_download(NULL, any, 1, any, 1, &e));
    REFUSES(dm_stream_download(any, NULL, 1, any, 1, &e));
    REFUSES(dm_stream_download(any, any, 1, NULL, 1, &e));
    REFUSES(dm_stream_copy(NULL, any, 1, any, 1, 1, &e));
    REFUSES(dm_stream_copy(any, NULL, 1, any, 1, 1, &e));
    REFUSES(dm_stream_copy(any, any, 1, NULL, 1, 1, &e));
    REFUSES(dm_stream_fill(NULL, any, 1, 1, 1, &e));
    REFUSES(dm_stream_fill(any, NULL, 1, 1, 1, &e));
    SURVIVES(dm_device_stream(NULL));
    REFUSES(dm_stream_create(NULL, any, &e));
    REFUSES(dm_stream_create(any, NULL, &e));
    REFUSES(dm_stream_import(NULL, NULL, any, &e));
    REFUSES(dm_stream_import(any, NULL, NULL, &e));
    SURVIVES(dm_stream_destroy(NULL));
    SURVIVES(dm_stream_native(NULL));
    REFUSES(dm_stream_synchronize(NULL, &e));
    REFUSES(dm_stream_wait(NULL, any, &e));
    REFUSES(dm_stream_wait(any, NULL, &e));
    REFUSES(dm_event_create(NULL, any, &e));
    REFUSES(dm_event_create(any, NULL, &e));
    SURVIVES(dm_event_destroy(NULL));
    REFUSES(dm_event_record(NULL, any, &e));
    REFUSES(dm_event_record(any, NULL, &e));
    REFUSES(dm_event_synchronize(NULL, &e));
    REFUSES(dm_event_elapsed(NULL, any, any, &e));
    REFUSES(dm_event_elapsed(any, NULL, any, &e));
    REFUSES(dm_event_elapsed(any, any, NULL, &e));
    REFUSES(dm_module_create(NULL, any, any, &e));
    REFUSES(dm_module_create(any, NULL, any, &e));
    REFUSES(dm_module_create(any, any, NULL, &e));
    SURVIVES(dm_module_destroy(NULL));
    SURVIVES(dm_module_was_cached(NULL));
    REFUSES(dm_module_function(NULL, any, any, &e));
    REFUSES(dm_module_function(any, NULL, any, &e));
    REFUSES(dm_module_function(any, any, NULL, &e));
    REFUSES(dm_function_get_properties(NULL, any, &e));
    REFUSES(dm_function_get_properties(any, NULL, &e));
    REFUSES(dm_function_launch(NULL, any, (dm_grid){1, 1, 0}, NULL, 1, &e));
    REFUSES(dm_function_launch(any, NULL, (dm_grid){1, 1, 0}, NULL, 1, &e));
    REFUSES(dm_function_launch_clusters(NULL, any, (dm_grid){1, 1, 0}, 1, NULL, 1, &e));
    REFUSES(dm_function_launch_clusters(any, NULL, (dm_grid){1, 1, 0}, 1, NULL, 1, &e));
    REFUSES(dm_graph_capture_begin(NULL, &e));
    REFUSES(dm_graph_capture_end(NULL, any, &e));
    REFUSES(dm_graph_capture_end(any, NULL, &e));
    REFUSES(dm_graph_launch(NULL, any, &e));
    REFUSES(dm_graph_launch(any, NULL, &e));
    SURVIVES(dm_graph_destroy(NULL));
    REFUSES(dm_device_selftest(NULL, NULL, &e));
    REFUSES(dm_kernel_file_create(NULL, NULL, 1, NULL, any, &e));
    REFUSES(dm_kernel_file_create(NULL, any, 1, NULL, NULL, &e));
    SURVIVES(dm_kernel_file_destroy(NULL));
    SURVIVES(dm_kernel_file_messages(NULL));
    SURVIVES(dm_kernel_file_count(NULL));
    SURVIVES(dm_kernel_file_get(NULL, 1));
    SURVIVES(dm_kernel_file_find(NULL, NULL));
    REFUSES(dm_kernel_compile(NULL, &e));
    SURVIVES(dm_kernel_name(NULL));
    SURVIVES(dm_kernel_line(NULL));
    SURVIVES(dm_kernel_has_backward(NULL));
    SURVIVES(dm_kernel_no_backward(NULL));
    SURVIVES(dm_kernel_source(NULL, 0, &e));
    SURVIVES(dm_kernel_dimensions(NULL));
    SURVIVES(dm_kernel_param_count(NULL));
    SURVIVES(dm_kernel_param_get(NULL, 1));
    REFUSES(dm_kernel_program_create(NULL, any, any, &e));
    REFUSES(dm_kernel_program_create(any, NULL, any, &e));
    REFUSES(dm_kernel_program_create(any, any, NULL, &e));
    SURVIVES(dm_kernel_program_destroy(NULL));
    REFUSES(dm_kernel_args_create(NULL, any, &e));
    REFUSES(dm_kernel_args_create(any, NULL, &e));
    SURVIVES(dm_kernel_args_destroy(NULL));
    REFUSES(dm_kernel_args_array(NULL, any, any, &e));
    REFUSES(dm_kernel_args_array(any, NULL, any, &e));
    REFUSES(dm_kernel_args_array(any, any, NULL, &e));
    REFUSES(dm_kernel_args_number(NULL, any, 1, &e));
    REFUSES(dm_kernel_args_number(any, NULL, 1, &e));
    REFUSES(dm_kernel_args_bytes(NULL, any, any, 1, &e));
    REFUSES(dm_kernel_args_bytes(any, NULL, any, 1, &e));
    REFUSES(dm_kernel_args_bytes(any, any, NULL, 1, &e));
    REFUSES(dm_kernel_launch(NULL, NULL, 0, NULL, 1, NULL, &e));
    REFUSES(dm_dynamics_create(NULL, 1, any, &e));
    REFUSES(dm_dynamics_create(any, 1, NULL, &e));
    SURVIVES(dm_dynamics_destroy(NULL));
    SURVIVES(dm_dynamics_get_config(NULL));
    SURVIVES(dm_dynamics_weights(NULL, 1, 0, NULL));
    SURVIVES(dm_dynamics_shift(NULL));
    SURVIVES(dm_dynamics_scale(NULL));
    REFUSES(dm_dynamics_save(NULL, any, &e));
    REFUSES(dm_dynamics_save(any, NULL, &e));
    REFUSES(dm_dynamics_load(NULL, any, &e));
    REFUSES(dm_dynamics_load(any, NULL, &e));
    REFUSES(dm_dynamics_import_torch(NULL, 1, any, any, NULL, NULL, &e));
    REFUSES(dm_dynamics_import_torch(any, 1, NULL, any, NULL, NULL, &e));
    REFUSES(dm_dynamics_import_torch(any, 1, any, NULL, NULL, NULL, &e));
    REFUSES(dm_dynamics_gru(NULL, 1, 1, any, any, any, &e));
    REFUSES(dm_dynamics_gru(any, 1, 1, NULL, any, any, &e));
    REFUSES(dm_dynamics_gru(any, 1, 1, any, NULL, any, &e));
    REFUSES(dm_dynamics_gru(any, 1, 1, any, any, NULL, &e));
    REFUSES(dm_dynamics_forecast_create(NULL, 1, 1, any, &e));
    REFUSES(dm_dynamics_forecast_create(any, 1, 1, NULL, &e));
    SURVIVES(dm_dynamics_forecast_destroy(NULL));
    REFUSES(dm_dynamics_rollout(NULL, any, any, any, &e));
    REFUSES(dm_dynamics_rollout(any, NULL, any, any, &e));
    REFUSES(dm_dynamics_rollout(any, any, any, NULL, &e));
    REFUSES(dm_dynamics_encoder_create(1, 1, NULL, &e));
    SURVIVES(dm_dynamics_encoder_destroy(NULL));
    SURVIVES(dm_dynamics_encoder_reset(NULL));
    SURVIVES(dm_dynamics_encoder_update(NULL, NULL, NULL));
    SURVIVES(dm_dynamics_encoder_passed(NULL));
    REFUSES(dm_dynamics_fit_scaling(NULL, any, 1, &e));
    REFUSES(dm_dynamics_fit_scaling(any, NULL, 1, &e));
    REFUSES(dm_dynamics_trainer_create(NULL, any, any, &e));
    REFUSES(dm_dynamics_trainer_create(any, NULL, any, &e));
    REFUSES(dm_dynamics_trainer_create(any, any, NULL, &e));
    SURVIVES(dm_dynamics_trainer_destroy(NULL));
    REFUSES(dm_dynamics_trainer_set_threads(NULL, 1, &e));
    REFUSES(dm_dynamics_trainer_set_learning_rate(NULL, 1, &e));
    REFUSES(dm_dynamics_trainer_sequence(NULL, any, 1, 1, 1, any, any, &e));
    REFUSES(dm_dynamics_trainer_sequence(any, NULL, 1, 1, 1, any, any, &e));
    REFUSES(dm_dynamics_trainer_sequence(any, any, 1, 1, 1, NULL, any, &e));
    REFUSES(dm_dynamics_trainer_observe(NULL, any, any, &e));
    REFUSES(dm_dynamics_trainer_observe(any, NULL, any, &e));
    SURVIVES(dm_dynamics_trainer_skipped(NULL));
    SURVIVES(dm_dynamics_trainer_hidden(NULL));
    SURVIVES(dm_dynamics_trainer_restart(NULL));
    SURVIVES(dm_dynamics_forecasts_curves(NULL));
    REFUSES(dm_dynamics_curve_forecast_create(NULL, any, 2, 1, any, &e));
    REFUSES(dm_dynamics_curve_forecast_create(any, NULL, 2, 1, any, &e));
    REFUSES(dm_dynamics_curve_forecast_create(any, any, 2, 1, NULL, &e));
    SURVIVES(dm_dynamics_curve_forecast_destroy(NULL));
    REFUSES(dm_dynamics_device_create(NULL, any, any, &e));
    REFUSES(dm_dynamics_device_create(any, NULL, any, &e));
    REFUSES(dm_dynamics_device_create(any, any, NULL, &e));
    SURVIVES(dm_dynamics_device_destroy(NULL));
    REFUSES(dm_dynamics_device_upload(NULL, &e));
    REFUSES(dm_dynamics_device_rollout(NULL, any, any, any, &e));
    REFUSES(dm_dynamics_device_rollout(any, NULL, any, any, &e));
    REFUSES(dm_dynamics_device_rollout(any, any, any, NULL, &e));
    REFUSES(dm_dynamics_device_gru(NULL, 1, 1, any, any, any, &e));
    REFUSES(dm_dynamics_device_gru(any, 1, 1, NULL, any, any, &e));
    REFUSES(dm_dynamics_device_gru(any, 1, 1, any, NULL, any, &e));
    REFUSES(dm_dynamics_device_gru(any, 1, 1, any, any, NULL, &e));
    REFUSES(dm_dynamics_batch_trainer_create(NULL, any, any, any, &e));
    REFUSES(dm_dynamics_batch_trainer_create(any, NULL, any, any, &e));
    REFUSES(dm_dynamics_batch_trainer_create(any, any, NULL, any, &e));
    REFUSES(dm_dynamics_batch_trainer_create(any, any, any, NULL, &e));
    SURVIVES(dm_dynamics_batch_trainer_destroy(NULL));
    REFUSES(dm_dynamics_batch_trainer_set_learning_rate(NULL, 1, &e));
    REFUSES(dm_dynamics_batch_trainer_sequences(NULL, 1, any, 1, 1, 1, any, any, any, &e));
    REFUSES(dm_dynamics_batch_trainer_sequences(any, 1, NULL, 1, 1, 1, any, any, any, &e));
    REFUSES(dm_dynamics_batch_trainer_sequences(any, 1, any, 1, 1, 1, NULL, any, any, &e));
    REFUSES(dm_dynamics_batch_trainer_hidden(NULL, 1, any, &e));
    REFUSES(dm_dynamics_batch_trainer_hidden(any, 1, NULL, &e));
    REFUSES(dm_dynamics_batch_trainer_fetch(NULL, &e));
    REFUSES(dm_dynamics_encoders_create(NULL, 1, 1, 1, any, &e));
    REFUSES(dm_dynamics_encoders_create(any, 1, 1, 1, NULL, &e));
    SURVIVES(dm_dynamics_encoders_destroy(NULL));
    REFUSES(dm_dynamics_encoders_update(NULL, any, NULL, &e));
    REFUSES(dm_dynamics_encoders_update(any, NULL, NULL, &e));
    REFUSES(dm_dynamics_device_forecast(NULL, any, any, any, any, &e));
    REFUSES(dm_dynamics_device_forecast(any, NULL, any, any, any, &e));
    REFUSES(dm_dynamics_device_forecast(any, any, NULL, any, any, &e));
    REFUSES(dm_dynamics_device_forecast(any, any, any, any, NULL, &e));
    SURVIVES(dm_dynamics_encoder_state_size(NULL));
    SURVIVES(dm_dynamics_encoder_state_get(NULL, NULL));
    REFUSES(dm_dynamics_encoder_state_set(NULL, any, 1, &e));
    REFUSES(dm_dynamics_encoder_state_set(any, NULL, 1, &e));
    SURVIVES(dm_dynamics_trainer_state_size(NULL));
    SURVIVES(dm_dynamics_trainer_state_get(NULL, NULL));
    REFUSES(dm_dynamics_trainer_state_set(NULL, any, 1, &e));
    REFUSES(dm_dynamics_trainer_state_set(any, NULL, 1, &e));
    SURVIVES(dm_nn_schedule_rate(NULL, 1));
    REFUSES(dm_nn_model_memory(NULL, any, any, &e));
    REFUSES(dm_nn_model_memory(any, NULL, any, &e));
    REFUSES(dm_nn_model_memory(any, any, NULL, &e));
    REFUSES(dm_nn_model_create(NULL, any, any, &e));
    REFUSES(dm_nn_model_create(any, NULL, any, &e));
    REFUSES(dm_nn_model_create(any, any, NULL, &e));
    SURVIVES(dm_nn_model_destroy(NULL));
    REFUSES(dm_nn_model_step(NULL, any, any, any, &e));
    REFUSES(dm_nn_model_step(any, NULL, any, any, &e));
    REFUSES(dm_nn_model_step(any, any, NULL, any, &e));
    REFUSES(dm_nn_model_loss(NULL, any, any, &e));
    REFUSES(dm_nn_model_evaluate(NULL, any, any, any, any, &e));
    REFUSES(dm_nn_model_evaluate(any, NULL, any, any, any, &e));
    SURVIVES(dm_nn_model_set_rate(NULL, 1));
    SURVIVES(dm_nn_model_parameter_count(NULL));
    SURVIVES(dm_nn_model_parameter(NULL, 0));
    REFUSES(dm_nn_model_read(NULL, 0, DM_NN_VALUE, any, &e));
    REFUSES(dm_nn_model_read(any, 0, DM_NN_VALUE, NULL, &e));
    REFUSES(dm_nn_model_write(NULL, 0, DM_NN_VALUE, any, &e));
    REFUSES(dm_nn_model_write(any, 0, DM_NN_VALUE, NULL, &e));
    REFUSES(dm_nn_model_swap_average(NULL, &e));
    SURVIVES(dm_nn_model_size(NULL));
    SURVIVES(dm_nn_model_steps(NULL));
    SURVIVES(dm_nn_model_set_steps(NULL, 1));
    SURVIVES(dm_nn_model_rows(NULL));
    SURVIVES(dm_nn_model_outputs(NULL));
    SURVIVES(dm_nn_model_products(NULL));
    REFUSES(dm_nn_products(NULL, any, 1, &e));
    REFUSES(dm_nn_products(any, NULL, 1, &e));
    REFUSES(dm_program_load(NULL, NULL, any, &e));
    REFUSES(dm_program_load("x", NULL, NULL, &e));
    REFUSES(dm_program_create(NULL, any, 1, NULL, any, &e));
    REFUSES(dm_program_create("x", NULL, 1, NULL, any, &e));
    REFUSES(dm_program_create("x", any, 1, NULL, NULL, &e));
    SURVIVES(dm_program_destroy(NULL));
    SURVIVES(dm_program_messages(NULL));
    SURVIVES(dm_program_get_info(NULL));
    SURVIVES(dm_program_source(NULL, false));
    REFUSES(dm_program_single_create(NULL, any, 0, 0, any, &e));
    REFUSES(dm_program_single_create(any, NULL, 0, 0, any, &e));
    REFUSES(dm_program_single_create(any, any, 0, 0, NULL, &e));
    SURVIVES(dm_program_single_destroy(NULL));
    REFUSES(dm_program_single_step(NULL, 0, any, &e));
    REFUSES(dm_program_single_step(any, 0, NULL, &e));
    REFUSES(dm_program_single_reset(NULL, &e));
    REFUSES(dm_program_single_save_state(NULL, "state", &e));
    REFUSES(dm_program_single_save_state(any, NULL, &e));
    REFUSES(dm_program_single_load_memory(NULL, "state", any, &e));
    REFUSES(dm_program_single_load_memory(any, NULL, any, &e));
    REFUSES(dm_program_single_load_memory(any, "state", NULL, &e));
    SURVIVES(dm_program_single_metric(NULL, 0));
    SURVIVES(dm_program_single_memory(NULL));
    static const char *const headers[] = {"program.h", "gb.h",       "swarm.h", "device.h",
                                          "kernel.h",  "dynamics.h", "nn.h"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        header_is_covered(headers[i]);
}

DM_TESTS("base/null_arguments", DM_TEST(null_is_refused_everywhere));
