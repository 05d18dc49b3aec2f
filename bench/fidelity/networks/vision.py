"""Classifiers of images and clips, of torchvision."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from .training import training_step


def classifier_step(model, *shape, classes=10, optimizer=None):
    def loss():
        return F.cross_entropy(model(torch.randn(*shape)), torch.randint(0, classes, (shape[0],)))

    return training_step(optimizer or torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4), loss)


def with_adamw(model, *shape):
    return classifier_step(model, *shape, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4))


def swin():
    return with_adamw(torchvision.models.swin_t(weights=None, num_classes=10), 1, 3, 112, 112)


def small_vit():
    return torchvision.models.VisionTransformer(
        image_size=64, patch_size=8, num_layers=4, num_heads=4, hidden_dim=256, mlp_dim=1024, num_classes=10)


def vit():
    return with_adamw(small_vit(), 4, 3, 64, 64)


def mobilenet():
    return classifier_step(torchvision.models.mobilenet_v3_small(weights=None, num_classes=10), 8, 3, 96, 96)


def small_convnext():
    blocks = torchvision.models.convnext.CNBlockConfig
    return torchvision.models.ConvNeXt(
        [blocks(48, 96, 2), blocks(96, 192, 2), blocks(192, 384, 3), blocks(384, None, 2)], num_classes=10)


def convnext():
    return with_adamw(small_convnext(), 4, 3, 64, 64)


def video():
    """R3D with three layers of halved width."""
    def block(channels, width, stride):
        return nn.Sequential(nn.Conv3d(channels, width, 3, stride, padding=1, bias=False), nn.BatchNorm3d(width),
                             nn.ReLU(inplace=True))

    model = nn.Sequential(block(3, 32, (1, 2, 2)), block(32, 32, 1), block(32, 64, 2), block(64, 64, 1), block(64, 128, 2),
                          nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(128, 10))
    return classifier_step(model, 2, 3, 8, 56, 56)
