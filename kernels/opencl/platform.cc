#include "kernels/opencl/platform.h"

#include <CL/cl_ext.h>
#include <fmt/format.h>

#include <mutex>

#include "core/kernel_origin.h"
#include "core/metrics.h"
#include "kernels/opencl/opencl_device.h"

// Not in every version of the headers.
#ifndef CL_DEVICE_PCI_BUS_INFO_KHR
#define CL_DEVICE_PCI_BUS_INFO_KHR 0x410F
#endif
#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#ifndef CL_DEVICE_PCI_BUS_ID_NV
#define CL_DEVICE_PCI_BUS_ID_NV 0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV 0x4009
#endif
#ifndef CL_DEVICE_PCI_DOMAIN_ID_NV
#define CL_DEVICE_PCI_DOMAIN_ID_NV 0x400A
#endif
#ifndef CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
#define CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#endif
#ifndef CL_DEVICE_TOPOLOGY_AMD
#define CL_DEVICE_TOPOLOGY_AMD 0x4037
#endif
#ifndef CL_DEVICE_BOARD_NAME_AMD
#define CL_DEVICE_BOARD_NAME_AMD 0x4038
#endif

namespace reprise {
namespace {

constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR

struct PciBusInfo {
  cl_uint domain = 0, bus = 0, device = 0, function = 0;
};

template <typename T>
bool Query(const cl::Device& device, cl_device_info what, T& value) {
  return clGetDeviceInfo(device(), what, sizeof(value), &value, nullptr) == CL_SUCCESS;
}

std::string Format(const PciBusInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

std::string PciBusId(const cl::Device& device, const std::string& extensions) {
  PciBusInfo pci;
  if (extensions.find("cl_khr_pci_bus_info") != std::string::npos &&
      Query(device, CL_DEVICE_PCI_BUS_INFO_KHR, pci)) {
    return Format(pci);
  }
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    cl_uint slot = 0;
    if (Query(device, CL_DEVICE_PCI_BUS_ID_NV, pci.bus) &&
        Query(device, CL_DEVICE_PCI_SLOT_ID_NV, slot)) {
      pci.device = slot >> 3;  // the slot is device and function in one byte, as lspci packs them
      pci.function = slot & 7;
      (void)Query(device, CL_DEVICE_PCI_DOMAIN_ID_NV, pci.domain);
      return Format(pci);
    }
  }
  if (extensions.find("cl_amd_device_attribute_query") != std::string::npos) {
    // cl_device_topology_amd: type, 17 unused bytes, then bus, device, function.
    struct {
      cl_uint type;
      cl_char unused[17];
      cl_char bus, device, function;
    } topology{};
    if (Query(device, CL_DEVICE_TOPOLOGY_AMD, topology) && topology.type == 1) {
      pci.bus = static_cast<unsigned char>(topology.bus);
      pci.device = static_cast<unsigned char>(topology.device);
      pci.function = static_cast<unsigned char>(topology.function);
      return Format(pci);
    }
  }
  return "";
}

// Other platforms (PoCL) know the attribute too, but not what NVIDIA's compiler takes.
int ComputeCapability(const cl::Device& device, const std::string& platform,
                      const std::string& extensions) {
  cl_uint major = 0;
  cl_uint minor = 0;
  if (platform.starts_with("NVIDIA") &&
      extensions.find("cl_nv_device_attribute_query") != std::string::npos &&
      Query(device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, major) &&
      Query(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, minor)) {
    return static_cast<int>(major * 10 + minor);
  }
  return 0;
}

// As nvidia-smi and amd-smi print it, without their "GPU-" prefix.
std::string Uuid(const cl::Device& device, const std::string& extensions) {
  unsigned char bytes[16] = {};
  if (extensions.find("cl_khr_device_uuid") == std::string::npos ||
      !Query(device, CL_DEVICE_UUID_KHR, bytes)) {
    return "";
  }
  return UuidText(bytes);
}

// Some drivers pad their strings with spaces or a zero byte.
std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) {
    text.pop_back();
  }
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first);
}

// AMD's driver names the instruction set ("gfx942:sramecc+:xnack-"), which several GPUs share; the
// board has the name that people, and machines' descriptions, use.
std::string Name(const cl::Device& device, const std::string& extensions) {
  char board[256] = {};
  if (extensions.find("cl_amd_device_attribute_query") != std::string::npos &&
      Query(device, CL_DEVICE_BOARD_NAME_AMD, board)) {
    if (std::string name = Trimmed(board); !name.empty()) {
      return name;
    }
  }
  return Trimmed(device.getInfo<CL_DEVICE_NAME>());
}

}  // namespace

Result<std::vector<cl::Device>> EnumerateClDevices() {
  // PoCL sets its devices up at the first listing, and hands them half made to a second thread.
  static std::mutex listing;
  const std::lock_guard lock(listing);
  std::vector<cl::Device> devices;
  cl_uint count = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &count);
  if (code == kNoPlatform || (code == CL_SUCCESS && count == 0)) {
    return devices;
  }
  REPRISE_TRY(ClStatus("listing platforms", code));
  return CatchCl("listing devices", [&] {
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    for (const cl::Platform& platform : platforms) {
      std::vector<cl::Device> found;
      try {
        platform.getDevices(CL_DEVICE_TYPE_ALL, &found);
      } catch (const cl::Error& error) {
        // A driver without hardware: the others still count.
        if (error.err() != CL_DEVICE_NOT_FOUND) {
          throw;
        }
      }
      devices.insert(devices.end(), found.begin(), found.end());
    }
    return devices;
  });
}

DeviceInfo DescribeClDevice(const cl::Device& device) {
  DeviceInfo info;
  info.backend = kOpenClBackend;
  info.kernels = std::string(kOwnKernelsPrefix) + ", by OpenCL";
  // Fields that a driver does not report stay as they are.
  (void)CatchCl("describing a device", [&] {
    const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
    info.name = Name(device, extensions);
    info.vendor = Trimmed(device.getInfo<CL_DEVICE_VENDOR>());
    info.driver = Trimmed(device.getInfo<CL_DRIVER_VERSION>());
    info.version = Trimmed(device.getInfo<CL_DEVICE_VERSION>());
    info.platform =
        Trimmed(cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>());
    info.compute_units = static_cast<int>(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
    info.memory_bytes = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>());
    info.max_allocation_bytes =
        static_cast<std::int64_t>(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>());
    info.max_work_group_size = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
    // A simulator of devices (Oclgrind) says that it is both.
    const auto type = device.getInfo<CL_DEVICE_TYPE>();
    info.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0 && (type & CL_DEVICE_TYPE_GPU) == 0;
    info.fp16 = extensions.find("cl_khr_fp16") != std::string::npos;
    info.fp64 = extensions.find("cl_khr_fp64") != std::string::npos;
    info.rounds_division =
        (device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    info.pci_bus_id = PciBusId(device, extensions);
    info.uuid = Uuid(device, extensions);
    info.compute_capability = ComputeCapability(device, info.platform, extensions);
  });
  return info;
}

Result<std::vector<DeviceInfo>> ListOpenClDevices() {
  REPRISE_ASSIGN(const std::vector<cl::Device> devices, EnumerateClDevices());
  std::vector<DeviceInfo> infos;
  infos.reserve(devices.size());
  for (const cl::Device& device : devices) {
    infos.push_back(DescribeClDevice(device));
  }
  return infos;
}

std::string WhyNoOpenClDevices() {
  cl_uint platforms = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &platforms);
  if (code == CL_SUCCESS && platforms > 0) {
    return fmt::format(
        "{} OpenCL platform(s) found, but none offers a device: the hardware is missing, or this "
        "user may not open it",
        platforms);
  }
  return "the OpenCL loader found no driver (ICD) that it can load; install the GPU vendor's, name "
         "its "
         "library with --icd, or install pocl-opencl-icd for the CPU; `reprise devices` lists what "
         "was looked for";
}

}  // namespace reprise
