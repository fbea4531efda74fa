# SPDX-License-Identifier: MIT
"""PPO's loss and its gradients by PyTorch, in float64, from numbers that tests/agent/test_texts.c makes too.

python tests/agent/ppo_peer.py        prints the table that stands in the test"""
import math

import torch

ROWS, ACTIONS = 6, 4
CLIP, VALUE_CLIP, VALUE, ENTROPY = 0.2, 0.3, 0.7, 0.05


def number(i):
    return math.sin(1.7 * i + 0.3) * 1.5


logits = torch.tensor([[number(n * ACTIONS + a) for a in range(ACTIONS)] for n in range(ROWS)], dtype=torch.float64,
                      requires_grad=True)
values = torch.tensor([number(100 + n) for n in range(ROWS)], dtype=torch.float64, requires_grad=True)
actions = torch.tensor([n * 3 % ACTIONS for n in range(ROWS)])
chances = torch.tensor([-1.4 + 0.3 * number(200 + n) for n in range(ROWS)], dtype=torch.float64)
advantages = torch.tensor([number(300 + n) for n in range(ROWS)], dtype=torch.float64)
returns = torch.tensor([number(400 + n) for n in range(ROWS)], dtype=torch.float64)
old = torch.tensor([number(100 + n) + 0.4 * number(500 + n) for n in range(ROWS)], dtype=torch.float64)

policy = torch.distributions.Categorical(logits=logits)
ratio = torch.exp(policy.log_prob(actions) - chances)
surrogate = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP))
held = old + (values - old).clamp(-VALUE_CLIP, VALUE_CLIP)
value = 0.5 * torch.max((values - returns) ** 2, (held - returns) ** 2)
loss = surrogate + VALUE * value - ENTROPY * policy.entropy()
loss.sum().backward()
for n in range(ROWS):
    row = [loss[n].item(), values.grad[n].item()] + logits.grad[n].tolist()
    print("{" + ", ".join(f"{x:.9f}" for x in row) + "},")
