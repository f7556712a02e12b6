// SPDX-License-Identifier: Apache-2.0
// Special functions of one element.
#include "csrc/kernels/math_special.h"

#include "csrc/kernels/math_table.h"

namespace torch_fl::kernels {

FL_OF_ONE(kFlDigamma, "digamma", kFloats, digamma(x))
FL_OF_ONE(kFlEntr, "entr", kFloats, entr(x))
FL_OF_ONE(kFlErfcx, "erfcx", kFloats, erfcx(x))
FL_OF_ONE(kFlErfinv, "erfinv", kFloats, erfinv(x))
FL_OF_ONE(kFlI0, "i0", kFloats, bessel_i<0>(x))
FL_OF_ONE(kFlI0e, "i0e", kFloats, scaled_bessel_i<0>(x))
FL_OF_ONE(kFlI1, "i1", kFloats, bessel_i<1>(x))
FL_OF_ONE(kFlI1e, "i1e", kFloats, scaled_bessel_i<1>(x))
FL_OF_ONE(kFlLgamma, "lgamma", kFloats, lgamma(x))
FL_OF_ONE(kFlLogNdtr, "log_ndtr", kFloats, log_ndtr(x))
FL_OF_ONE(kFlNdtri, "ndtri", kFloats, ndtri(x))
FL_OF_ONE(
    kFlPolygamma,
    "polygamma",
    kFloats,
    polygamma(x, static_cast<int>(p[0])))

} // namespace torch_fl::kernels

musaError_t fl_special(
    FlSpecial op,
    FlKernelType type,
    const FlOperands* operands,
    const FlMath* math,
    musaStream_t stream) {
  return torch_fl::kernels::call<1, kFlSpecialCount>(
      op,
      torch_fl::kernels::ElementCall{type, *operands, *math, stream});
}
