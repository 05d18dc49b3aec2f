#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/opencl/cl.h"

namespace reprise {
namespace {

struct Named {
  cl_int code;
  std::string_view name;
};

#define NAMED(code) \
  Named { code, #code }
constexpr std::array kClErrorNames = {
    NAMED(CL_DEVICE_NOT_FOUND),
    NAMED(CL_DEVICE_NOT_AVAILABLE),
    NAMED(CL_COMPILER_NOT_AVAILABLE),
    NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAMED(CL_OUT_OF_RESOURCES),
    NAMED(CL_OUT_OF_HOST_MEMORY),
    NAMED(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAMED(CL_MEM_COPY_OVERLAP),
    NAMED(CL_BUILD_PROGRAM_FAILURE),
    NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAMED(CL_INVALID_VALUE),
    NAMED(CL_INVALID_DEVICE),
    NAMED(CL_INVALID_CONTEXT),
    NAMED(CL_INVALID_COMMAND_QUEUE),
    NAMED(CL_INVALID_MEM_OBJECT),
    NAMED(CL_INVALID_BINARY),
    NAMED(CL_INVALID_BUILD_OPTIONS),
    NAMED(CL_INVALID_PROGRAM),
    NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
    NAMED(CL_INVALID_KERNEL_NAME),
    NAMED(CL_INVALID_KERNEL),
    NAMED(CL_INVALID_ARG_INDEX),
    NAMED(CL_INVALID_ARG_VALUE),
    NAMED(CL_INVALID_ARG_SIZE),
    NAMED(CL_INVALID_KERNEL_ARGS),
    NAMED(CL_INVALID_WORK_DIMENSION),
    NAMED(CL_INVALID_WORK_GROUP_SIZE),
    NAMED(CL_INVALID_WORK_ITEM_SIZE),
    NAMED(CL_INVALID_GLOBAL_OFFSET),
    NAMED(CL_INVALID_EVENT_WAIT_LIST),
    NAMED(CL_INVALID_EVENT),
    NAMED(CL_INVALID_OPERATION),
    NAMED(CL_INVALID_BUFFER_SIZE),
    NAMED(CL_INVALID_GLOBAL_WORK_SIZE),
    Named{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef NAMED

// What the machine lacks, as opposed to what we asked wrongly.
bool IsResourceError(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY;
}

}  // namespace

std::string ClErrorName(cl_int code) {
  const auto* const named = std::ranges::find(kClErrorNames, code, &Named::code);
  return named == kClErrorNames.end() ? "error " + std::to_string(code)
                                      : fmt::format("{} ({})", named->name, code);
}

Error ClError(std::string_view what, cl_int code) {
  std::string message = "OpenCL: " + std::string(what) + " failed: " + ClErrorName(code);
  if (IsResourceError(code)) {
    message += "; the device is out of memory or resources";
  }
  return {ErrorKind::kEnvironment, std::move(message)};
}

}  // namespace reprise
