// A BLAS for the tests of --blas: Fortran's sgemm_, plainly, and what it was called with.
#include <atomic>
#include <cstdint>

namespace {
std::atomic<int> g_calls = 0;  // products of a batch run on several threads
std::atomic<int> g_threads = 0;
}  // namespace

extern "C" {

int stand_in_calls() { return g_calls; }
int stand_in_threads() { return g_threads; }
void openblas_set_num_threads(int threads) { g_threads = threads; }
char* openblas_get_config() {
  static char config[] = "stand-in 1.0";
  return config;
}

// c(m,n) = alpha op(a) op(b) + beta c, by columns, as https://netlib.org/blas/ says.
void sgemm_(const char* a_form, const char* b_form, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* a_leading, const float* b,
            const int* b_leading, const float* beta, float* c, const int* c_leading) {
  ++g_calls;
  const auto at = [](const float* x, char form, int leading, std::int64_t i, std::int64_t j) {
    return form == 'N' ? x[i + j * leading] : x[j + i * leading];
  };
  for (std::int64_t j = 0; j < *n; ++j) {
    for (std::int64_t i = 0; i < *m; ++i) {
      float sum = 0;
      for (std::int64_t l = 0; l < *k; ++l) {
        sum += at(a, *a_form, *a_leading, i, l) * at(b, *b_form, *b_leading, l, j);
      }
      float& to = c[i + j * *c_leading];
      to = *alpha * sum + (*beta == 0 ? 0 : *beta * to);
    }
  }
}

}  // extern "C"
