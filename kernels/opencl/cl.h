// The OpenCL C++ bindings, and their exceptions as Results.
#pragma once

// The bindings for 1.2, which every driver has; the C functions up to 3.0, to be called only where
// the device's version allows (the loader does not check).
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.h"

namespace reprise {

// "CL_OUT_OF_RESOURCES (-5)"
[[nodiscard]] std::string ClErrorName(cl_int code);
// "OpenCL: <what> failed: CL_OUT_OF_RESOURCES (-5)"
[[nodiscard]] Error ClError(std::string_view what, cl_int code);

// Status of a C call.
[[nodiscard]] inline Status ClStatus(std::string_view what, cl_int code) {
  return code == CL_SUCCESS ? Status() : tl::unexpected(ClError(what, code));
}

// Calls `body`, whose cl::Error becomes an Error that says `what` was being done.
template <typename Body>
auto CatchCl(std::string_view what, Body&& body) -> Result<std::invoke_result_t<Body>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const cl::Error& error) {
    return tl::unexpected(
        ClError(std::string(what) + " (" + (error.what() == nullptr ? "" : error.what()) + ")",
                error.err()));
  }
}

}  // namespace reprise
