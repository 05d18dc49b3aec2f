#include "kernels/cuda/nccl.h"

#include <fmt/format.h>

#include <filesystem>

#include "kernels/shared_library.h"

namespace reprise {
namespace {

constexpr const char* kNcclLibrary = "libnccl.so.2";
// The first whose communicators are joined without waiting.
constexpr int kOldestNccl = 21400;

// site-packages/torch/lib/libtorch_cuda.so and site-packages/nvidia/nccl/lib/libnccl.so.2.
std::string BesideTorch(const std::string& torch) {
  const auto packages = std::filesystem::path(torch).parent_path().parent_path().parent_path();
  return packages / "nvidia/nccl/lib" / kNcclLibrary;
}

}  // namespace

Result<std::shared_ptr<const Nccl>> Nccl::Open(const std::string& torch) {
  const std::string beside = torch.empty() ? kNcclLibrary : BesideTorch(torch);
  const auto library = SharedLibrary::Open({kNcclLibrary, beside.c_str()});
  if (!library) {
    return EnvironmentError("NCCL was not found: " + library.error().message);
  }
  std::shared_ptr<Nccl> nccl(new Nccl);
  std::string missing;
#define REPRISE_FIND(member, symbol, ...)            \
  nccl->member = library->Find<__VA_ARGS__>(symbol); \
  missing += nccl->member == nullptr ? std::string(" ") + symbol : "";
  REPRISE_NCCL_FUNCTIONS(REPRISE_FIND)
#undef REPRISE_FIND
  int version = 0;
  if (nccl->version != nullptr) {
    (void)nccl->version(&version);
  }
  if (!missing.empty() || version < kOldestNccl) {
    return EnvironmentError(fmt::format("{} is of version {}{}{}; NCCL 2.14 or later is needed",
                                        library->FileOf("ncclGetVersion"), version,
                                        missing.empty() ? "" : " and lacks", missing));
  }
  nccl->description_ =
      fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return nccl;
}

Status Nccl::Check(int code, std::string_view what) const {
  if (code == 0 || code == kNcclInProgress) {
    return {};
  }
  const char* const text = error_text(code);
  return EnvironmentError(
      fmt::format("NCCL: {}: {}", what, text == nullptr ? std::to_string(code) : text));
}

}  // namespace reprise
