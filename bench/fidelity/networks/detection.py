"""Finding objects in images, with torchvision."""
import torch
import torchvision

from .training import trained, training_step


def boxes(count, size):
    corner = torch.rand(count, 2) * size / 2
    return torch.cat([corner, corner + 8 + torch.rand(count, 2) * size / 3], dim=1)


def retinanet(size=64, classes=5):
    backbone = torchvision.models.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=5)
    model = torchvision.models.detection.RetinaNet(backbone, classes, min_size=size, max_size=size)

    def loss():
        targets = [{"boxes": boxes(4, size), "labels": torch.randint(1, classes, (4,))}]
        return sum(model([torch.rand(3, size, size)], targets).values())

    return training_step(torch.optim.SGD(trained(model), lr=1e-4, momentum=0.9), loss)
