"""Cases of make_values.py for what convolutional networks add: each group is called with `case`."""
import torch

NAN = float("nan")


def convolutions(case):
    """Transposed ones, under the names that run on a CPU."""
    x, b = torch.randn(2, 4, 3, 4), torch.randn(6)
    for stride, padding, more, dilation, groups in (
            ([2, 2], [1, 1], [1, 0], [1, 1], 1), ([3, 1], [0, 2], [2, 0], [1, 2], 1),
            ([1, 2], [0, 0], [0, 1], [2, 1], 2)):
        w = torch.randn(4, 6 // groups, 3, 2)
        flags = (True, more, groups)
        y = torch.ops.aten.convolution(x, w, b, stride, padding, dilation, *flags)
        case("_convolution", x, w, b, stride, padding, dilation, *flags, False, False, True, True)
        case("convolution_backward", torch.randn_like(y), x, w, [6], stride, padding, dilation,
             *flags, [True, True, True])
        if groups == 1:
            case("slow_conv_transpose2d", x, w, [3, 2], b, stride, padding, more, dilation)
    line, w = torch.randn(2, 3, 5), torch.randn(3, 2, 4)
    case("_convolution", line, w, None, [2], [1], [1], True, [1], 1, False, False, True, True)
    case("convolution_backward", torch.randn(2, 2, 11), line, w, [2], [2], [1], [1], True, [1], 1,
         [True, True, False])


def activations(case):
    x = torch.tensor([-3.0, -1.0, -0.25, 0.0, 0.4, 1.0, 2.5, 30.0, NAN])
    g = torch.tensor([1.0, -2.0, 0.5, 3.0, -1.0, 0.25, 2.0, 1.5, 1.0])
    for alpha, scale, input_scale in ((1.5, 1.0, 1.0), (0.75, 1.0, 1.25),
                                      (1.6732632423543772, 1.0507009873554805, 1.0)):
        y = torch.ops.aten.elu(x, alpha, scale, input_scale)
        case("elu_backward", g, alpha, scale, input_scale, False, x)
        case("elu_backward", g, alpha, scale, input_scale, True, y)
    for name in ("hardswish_", "hardsigmoid_", "mish_", "selu_", "celu_", "relu6_"):
        case(name, x.clone())
    for shrink in ("hardshrink", "softshrink"):
        case(shrink, x, 0.5)
        case(shrink + "_backward", g, x, 0.5)
    images, weight = torch.randn(2, 3, 2, 2), torch.randn(1, 3, 1, 1)
    case("_prelu_kernel", images, weight)
    case("_prelu_kernel_backward", torch.randn_like(images), images, weight)


def shuffles(case):
    x = torch.arange(96.0).reshape(2, 12, 2, 2)
    case("pixel_shuffle", x, 2)
    case("pixel_unshuffle", torch.arange(32.0).reshape(1, 2, 4, 4), 2)
    case("channel_shuffle", x, 3)
    case("native_channel_shuffle", x, 4)


def pooling(case):
    for shape, size in (((2, 2, 5, 7), [3, 4]), ((3, 4, 3), [2, 5])):
        x = torch.randn(*shape)
        y, at = torch.ops.aten.adaptive_max_pool2d(x, size)
        case("adaptive_max_pool2d", x, size)
        case("adaptive_max_pool2d_backward", torch.randn_like(y), x, at)


def resampling(case):
    x, line = torch.randn(1, 2, 3, 4), torch.randn(2, 3, 4)
    for size in ([6, 8], [5, 7], [2, 3], [1, 1]):
        g = torch.randn(1, 2, *size)
        case("_upsample_nearest_exact2d", x, size, None, None)
        case("_upsample_nearest_exact2d_backward", g, size, [1, 2, 3, 4], None, None)
        for corners in (False, True):
            case("upsample_bicubic2d", x, size, corners, None, None)
            case("upsample_bicubic2d_backward", g, size, [1, 2, 3, 4], corners, None, None)
    case("upsample_bicubic2d", x, None, False, [2.5, 1.75], overload="vec")
    for corners in (False, True):
        case("upsample_linear1d", line, [7], corners, None)
        case("upsample_linear1d_backward", torch.randn(2, 3, 7), [7], [2, 3, 4], corners, None)
    case("_upsample_nearest_exact1d", line, [7], 1.75)
    case("_upsample_nearest_exact1d_backward", torch.randn(2, 3, 7), [7], [2, 3, 4], 1.75)


def padding(case):
    for kind in ("reflection_pad", "replication_pad"):
        for shape, pad in (((2, 3, 4), [2, 3]), ((1, 2, 3, 4), [1, 2, 0, 2]),
                           ((1, 2, 3, 2, 3), [1, 2, 1, 0, 2, 1])):
            x = torch.randn(*shape)
            name = f"{kind}{len(pad) // 2}d"
            y = getattr(torch.ops.aten, name)(x, pad)
            case(name, x, pad)
            case(name + "_backward", torch.randn_like(y), x, pad)


def windows(case):
    x = torch.randn(2, 2, 5, 4)
    sizes = ([3, 2], [1, 2], [1, 0], [2, 1])
    case("im2col", x, *sizes)
    case("col2im", torch.randn(2, 12, 6), [5, 4], *sizes)
    case("im2col", x[0], [2, 2], [1, 1], [0, 0], [1, 2])


def sampling(case):
    x, g = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 2, 3)
    grid = torch.randn(2, 2, 3, 2) * 1.5
    grid[0, 0, 1, 1] = 7.0
    for mode in (0, 1):
        for outside in (0, 1, 2):
            for corners in (False, True):
                case("grid_sampler_2d", x, grid, mode, outside, corners)
                case("grid_sampler_2d_backward", g, x, grid, mode, outside, corners, [True, True])


def ranks(case):
    x = torch.randn(3, 4, 5)
    for values in (x, torch.randperm(24).reshape(2, 3, 4)):
        case("median", values)
        case("median", values, 1, False, overload="dim")
        case("kthvalue", values, 2, -1, True)
    holes = x.clone()
    holes[0, 1, 2] = holes[2, :, 0] = NAN
    case("median", holes)
    case("nanmedian", holes)
    case("nanmedian", holes, 2, True, overload="dim")
    case("median", holes[:2], 1, True, overload="dim")


GROUPS = (convolutions, activations, shuffles, pooling, resampling, padding, windows, sampling,
          ranks)
