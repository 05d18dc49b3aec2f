"""Captures of small models of Hugging Face's transformers on the CPU, each with its config.json; one with peft's adapters.

    python3 make.py        # needs PyTorch, transformers, peft, and reprise_capture.py beside it
"""
import peft
import torch
import torch.nn.functional as F
import transformers

import reprise_capture

BATCH, SEQUENCE = 4, 64
SHAPE = {"vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
         "num_key_value_heads": 4, "max_position_embeddings": SEQUENCE, "tie_word_embeddings": False}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 128, "norm_topk_prob": True}
MODELS = {
    "llama_lora": ("llama", {}),
    "qwen3_moe": ("qwen3_moe", {"num_experts": 8, "head_dim": 32, **EXPERTS}),
    "deepseek_v3": ("deepseek_v3", {
        "num_key_value_heads": 8, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1,
        "q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
        "num_nextn_predict_layers": 0, **EXPERTS}),
}


def train(name, kind, shape):
    config = transformers.AutoConfig.for_model(kind, **{**SHAPE, **shape})
    config.save_pretrained(name)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    if name.endswith("lora"):
        model = peft.get_peft_model(model, peft.LoraConfig(r=8, lora_alpha=8, target_modules=["q_proj", "v_proj"]))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    capture = reprise_capture.start(name, steps=1)
    for _ in range(16):
        given = torch.randint(SHAPE["vocab_size"], (BATCH, SEQUENCE + 1))
        optimizer.zero_grad()
        logits = model(input_ids=given[:, :-1], use_cache=False).logits
        F.cross_entropy(logits.flatten(0, 1), given[:, 1:].flatten()).backward()
        optimizer.step()
        capture.step()
    capture.close()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name, (kind, shape) in MODELS.items():
        train(name, kind, shape)
