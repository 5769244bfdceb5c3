// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting at a device that serves one call after another: Poisson arrivals, any service time (M/G/1). The mean is
 * Pollaczek and Khinchine's. The tail falls as e^-theta t, where lambda (M(theta) - 1) = theta and M is the service
 * time's moment generating function; the service time is taken as gamma of the measured moments. Tijms: P(W > t) is
 * a e^-theta t plus (rho - a) e^-eta t with eta from the mean. At scv 1 that is exact.
 */
#include "advise/predict.h"

#include <math.h>

double predict_wait_mean(double per_s, double service_ns, double scv)
{
	double rho = per_s * service_ns * 1e-9;

	if (!(rho >= 0) || !(scv >= 0))
		return NAN;
	return rho >= 1 ? INFINITY : rho * service_ns * (1 + scv) / (2 * (1 - rho));
}

/* In units of the mean service time, theta and the rate alike. */
static double generating(double theta, double scv)
{
	return scv < 1e-6 ? exp(theta) : pow(1 - scv * theta, -1 / scv);
}

static double decay(double rho, double scv)
{
	double lo = 0, hi = scv < 1e-6 ? 700 : (1 - 1e-12) / scv;

	/* rho (M(x) - 1) - x starts at 0, falls (rho < 1) and rises again: the second zero */
	for (int i = 0; i < 200; i++) {
		double x = (lo + hi) / 2;

		if (rho * (generating(x, scv) - 1) > x)
			hi = x;
		else
			lo = x;
	}
	return (lo + hi) / 2;
}

double predict_wait(double per_s, double service_ns, double scv, double q)
{
	double rho = per_s * service_ns * 1e-9, mean = predict_wait_mean(per_s, service_ns, scv);
	double theta, slope, a, eta, lo = 0, hi;

	if (isnan(mean) || !(q >= 0 && q < 1))
		return NAN;
	if (isinf(mean))
		return INFINITY;
	if (1 - rho >= q) /* so many find the device free */
		return 0;
	mean /= service_ns;
	theta = decay(rho, scv);
	slope = generating(theta, scv) * (scv < 1e-6 ? 1 : 1 / (1 - scv * theta));
	a = (1 - rho) / (rho * slope - 1);
	eta = (rho - a) / (mean - a / theta);
	if (!(eta > 0) || !isfinite(eta) || !(a > 0)) { /* both parts the same: one exponential with the mean */
		a = rho;
		theta = rho / mean;
		eta = theta;
	}
	hi = 100 * (1 / theta + 1 / eta);
	for (int i = 0; i < 200; i++) {
		double t = (lo + hi) / 2;

		if (a * exp(-theta * t) + (rho - a) * exp(-eta * t) > 1 - q)
			lo = t;
		else
			hi = t;
	}
	return (lo + hi) / 2 * service_ns;
}
