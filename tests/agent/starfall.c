/* STARFALL for an agent: the body of an epilog (docs/agent.md). The policy sees 20 numbers: the
 * basket, the speed, when and near where the next thing appears, and the four things that fall, the
 * lowest first: is it a star, an ember, how far is it from the basket, how low. Behind them come the
 * score, and what the reward is the change of. Memory: docs/game.md. */
uint32_t slots[4], used = 0;
float basket = (float)dm_swarm_peek(view, 0xC004u);
uint32_t speed = dm_swarm_peek(view, 0xC013u) + 256u * dm_swarm_peek(view, 0xC014u);
uint32_t score = dm_swarm_peek(view, 0xC001u) + 256u * dm_swarm_peek(view, 0xC002u);
obs[0] = (basket - 68.0f) / 68.0f;
obs[1] = (float)speed / 768.0f;
obs[2] = (float)dm_swarm_peek(view, 0xC015u) / 72.0f;
obs[3] = ((float)dm_swarm_peek(view, 0xC017u) - 76.0f) / 76.0f;
for (uint32_t i = 0; i < 4u; i++) {
    uint32_t at = 0xC020u + 4u * i, place = used;
    if (dm_swarm_peek(view, at) == 0u)
        continue;
    while (place > 0u &&
           dm_swarm_peek(view, slots[place - 1u] + 2u) < dm_swarm_peek(view, at + 2u)) {
        slots[place] = slots[place - 1u];
        place--;
    }
    slots[place] = at;
    used++;
}
for (uint32_t i = 0; i < 4u; i++) {
    float *thing = obs + 4u + 4u * i;
    uint32_t kind = i < used ? dm_swarm_peek(view, slots[i]) : 0u;
    thing[0] = kind == 1u ? 1.0f : 0.0f;
    thing[1] = kind == 2u ? 1.0f : 0.0f;
    thing[2] = kind != 0u
                   ? ((float)dm_swarm_peek(view, slots[i] + 1u) + 4.0f - basket - 12.0f) / 80.0f
                   : 0.0f;
    thing[3] = kind != 0u ? (float)dm_swarm_peek(view, slots[i] + 2u) / 128.0f : 0.0f;
}
obs[20] = (float)score;
obs[21] = (float)score + (float)dm_swarm_peek(view, 0xC003u);
*terminated = dm_swarm_peek(view, 0xC000u) == 2u;
