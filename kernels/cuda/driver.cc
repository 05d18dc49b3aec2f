#include "kernels/cuda/driver.h"

#include <fmt/format.h>

#include <string>

namespace reprise {

Result<CudaDriver> CudaDriver::Open() {
  const auto library = SharedLibrary::Open({"libcuda.so.1"});
  if (!library) {
    return EnvironmentError("NVIDIA's driver is not installed: " + library.error().message);
  }
  CudaDriver driver;
  std::string missing;
#define REPRISE_FIND(member, symbol, ...)             \
  driver.member = library->Find<__VA_ARGS__>(symbol); \
  missing += driver.member == nullptr ? std::string(" ") + symbol : "";
  REPRISE_CUDA_FUNCTIONS(REPRISE_FIND)
#undef REPRISE_FIND
  if (!missing.empty()) {
    return EnvironmentError("libcuda.so.1 lacks" + missing +
                            "; a driver for CUDA 11.4 or later has it");
  }
  REPRISE_TRY(driver.Check(driver.init(0), "starting NVIDIA's driver"));
  return driver;
}

Result<const CudaDriver*> CudaDriver::Get() {
  static const Result<CudaDriver> driver = Open();
  if (!driver) {
    return tl::unexpected<Error>(driver.error());
  }
  return &*driver;
}

Status CudaDriver::Check(int code, std::string_view what) const {
  if (code == 0) {
    return {};
  }
  const char* name = nullptr;
  const char* text = nullptr;
  (void)error_name(code, &name);
  (void)error_text(code, &text);
  return EnvironmentError(fmt::format("{}: {} ({})", what, text == nullptr ? "it failed" : text,
                                      name == nullptr ? std::to_string(code) : name));
}

}  // namespace reprise
