"""Language models of transformers."""
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from .training import trained, training_step


def tokens(batch, length, words):
    return torch.randint(5, words, (batch, length))


def small_llama(layers=4, hidden=256, words=4000, **more):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=words, hidden_size=hidden, intermediate_size=11 * hidden // 4, num_hidden_layers=layers,
        num_attention_heads=hidden // 64, num_key_value_heads=hidden // 128, max_position_embeddings=512, **more))


def small_gpt2(layers=4, hidden=256, words=4000):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=words, n_embd=hidden, n_layer=layers, n_head=hidden // 64, n_positions=256, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2))


def next_token_step(model, optimizer, batch=2, length=128, words=None):
    words = words or model.config.vocab_size

    def loss():
        ids = tokens(batch, length, words)
        return model(input_ids=ids, labels=ids, use_cache=False).loss

    return training_step(optimizer, loss)


def llama():
    model = small_llama()
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4))


class LowRank(nn.Module):
    """A frozen linear layer, and a trained product of two thin matrices beside it."""

    def __init__(self, frozen, rank):
        super().__init__()
        self.frozen = frozen
        self.down = nn.Linear(frozen.in_features, rank, bias=False)
        self.up = nn.Linear(rank, frozen.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.frozen(x) + 2.0 * self.up(self.down(x))


def lora(rank=8):
    model = small_llama()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for layer in model.model.layers:
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(layer.self_attn, name, LowRank(getattr(layer.self_attn, name), rank))
    return next_token_step(model, torch.optim.AdamW(trained(model), lr=1e-4))


def generation(prompt=32, generated=24):
    """Greedy decoding of a batch, token by token."""
    model = small_llama().eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0

    def step():
        ids = tokens(2, prompt, model.config.vocab_size)
        with torch.no_grad():
            return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=generated, do_sample=False)

    return step


def mixtral(hidden=192, layers=3, experts=4):
    """Expert by expert, as transformers does it by itself: which tokens an expert gets are index tensors (`where`, `index_add_`)."""
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=4000, hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=layers, num_attention_heads=3,
        num_key_value_heads=3, num_local_experts=experts, num_experts_per_tok=2, max_position_embeddings=512,
        experts_implementation="eager"))
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4))


def dynamic(lengths=(37, 64, 95, 128), share=0.15):
    """BERT with gradients of four batches of unlike lengths. The head computes masked tokens alone: their number is random."""
    words, hidden = 4000, 256
    model = transformers.BertModel(transformers.BertConfig(
        vocab_size=words, hidden_size=hidden, num_hidden_layers=3, num_attention_heads=4, intermediate_size=4 * hidden,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), add_pooling_layer=False)
    head = nn.Linear(hidden, words)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4)

    def step():
        optimizer.zero_grad()
        total = 0.0
        for length in lengths:
            ids = tokens(2, length, words)
            masked = torch.rand(ids.shape) < share
            states = model(input_ids=ids.masked_fill(masked, 3)).last_hidden_state
            loss = F.cross_entropy(head(states[masked]), ids[masked])
            loss.backward()
            total += loss.item()
        optimizer.step()
        return total

    return step


def fused():
    model = small_gpt2()
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))


def checkpointing():
    model = small_llama()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    return next_token_step(model, torch.optim.AdamW(model.parameters(), lr=1e-4))


def autocast():
    model = small_gpt2()

    def loss():
        ids = tokens(2, 128, model.config.vocab_size)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(input_ids=ids, labels=ids, use_cache=False).loss

    return training_step(torch.optim.AdamW(model.parameters(), lr=1e-4), loss)


def vocabulary():
    model = small_gpt2(layers=2, hidden=128, words=65536)
    return next_token_step(model, torch.optim.SGD(model.parameters(), lr=0.01), batch=1, length=64)
