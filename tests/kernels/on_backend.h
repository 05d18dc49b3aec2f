// A test on the device of a backend, its parameter: instantiate it with BackendNames(). Skipped,
// with the reason, where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/backend.h"
#include "tests/kernels/harness.h"
#include "tests/skip.h"

namespace reprise {

class OnBackend : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string why;
    device_ = TestDevice(GetParam(), &why);
    if (device_ == nullptr) {
      REPRISE_SKIP(GetParam(), why);
    }
  }
  Device* device_ = nullptr;
};

}  // namespace reprise
