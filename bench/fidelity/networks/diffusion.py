"""Training of a denoiser."""
import diffusers
import torch
import torch.nn.functional as F

from .training import training_step


def unet():
    model = diffusers.UNet2DModel(
        sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64, 128),
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"), norm_num_groups=16)
    noise_of = diffusers.DDPMScheduler()

    def loss():
        images, noise = torch.randn(2, 3, 32, 32), torch.randn(2, 3, 32, 32)
        times = torch.randint(0, noise_of.config.num_train_timesteps, (2,))
        return F.mse_loss(model(noise_of.add_noise(images, noise, times), times).sample, noise)

    return training_step(torch.optim.AdamW(model.parameters(), lr=1e-4), loss)
