"""From sound to text, with transformers."""
import torch
import transformers

from .training import training_step


def whisper(hidden=192, seconds=4, words=4000):
    frames = 100 * seconds
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=words, num_mel_bins=80, d_model=hidden, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=4 * hidden, decoder_ffn_dim=4 * hidden, max_source_positions=frames // 2,
        max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, dropout=0.0))

    def loss():
        return model(input_features=torch.randn(2, 80, frames), labels=torch.randint(5, words, (2, 32)),
                     use_cache=False).loss

    return training_step(torch.optim.AdamW(model.parameters(), lr=1e-4), loss)
