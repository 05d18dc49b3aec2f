"""What the networks' steps have in common."""


def training_step(optimizer, loss_of_batch):
    """Gradients to zero, the loss of a new batch, its gradients, the optimizer; the loss is read as training loops read it."""
    def step():
        optimizer.zero_grad()
        loss = loss_of_batch()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def trained(model):
    """The parameters that have a gradient."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
