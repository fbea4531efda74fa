/* SPDX-License-Identifier: MIT */
/* learner_graphs.c - CUDA graphs of a round: each step's acting, each step of the world, the update.
 *
 * The first round of a process is queued call by call, since products choose their algorithms by timing them. The
 * second captures each piece and replays it at once; later rounds replay. Timing events lie between the graphs. */
#include "agent/learner_internal.h"

#include <stdlib.h>

uint64_t dm_agent_graph_count(const dm_agent_learner *l)
{
    return 2 * l->T + 2;
}

void dm_agent_graphs_destroy(dm_agent_learner *l)
{
    for (uint64_t i = 0; l->graphs && i < dm_agent_graph_count(l); i++)
        dm_graph_destroy(l->graphs[i]);
    free(l->graphs);
    l->graphs = NULL;
}

static dm_status capture(dm_agent_learner *l, uint64_t index, dm_agent_piece piece, uint64_t t,
                         dm_error *err)
{
    dm_error ignored = {0};
    dm_status status = dm_graph_capture_begin(l->stream, err);
    if (status != DM_OK)
        return status;
    status = piece(l, t, err);
    dm_graph *graph = NULL;
    dm_status ended = dm_graph_capture_end(l->stream, &graph, status == DM_OK ? err : &ignored);
    if (status == DM_OK && ended == DM_OK) {
        l->graphs[index] = graph;
        return DM_OK;
    }
    dm_graph_destroy(graph);
    return status != DM_OK ? status : ended;
}

/* Where a driver does not capture, pieces are queued call by call. A step of the world counts on the host, so it is
 * not made again: its failure is an error. */
dm_status dm_agent_queue(dm_agent_learner *l, uint64_t index, dm_agent_piece piece, uint64_t t,
                         dm_error *err)
{
    if (!l->graphs || !l->warm || l->no_graphs)
        return piece(l, t, err);
    if (l->graphs[index] == NULL) {
        bool of_world = index < 2 * l->T && index % 2 == 1;
        dm_error failure = {0};
        dm_status status = capture(l, index, piece, t, &failure);
        if (status != DM_OK && of_world)
            return dm_fail(err, status, "%.900s (graphs=0 does without graphs)", failure.message);
        if (status != DM_OK) {
            l->no_graphs = true;
            return piece(l, t, err);
        }
    }
    return dm_graph_launch(l->graphs[index], l->stream, err);
}
