//! Inference on a fitted model, converted to Python's `Inference` and back.

use numpy::{PyArray2, PyArrayMethods, ToPyArray};
use predict::{Inference, Parameter};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::Model;

/// `model` is what it is of.
pub(crate) fn inference_object<'py>(model: &Bound<'py, Model>, inference: &Inference) -> PyResult<Bound<'py, PyAny>> {
    let py = model.py();
    let (parameters, errors) = (PyDict::new(py), PyDict::new(py));
    for Parameter { name, value, standard_error } in &inference.parameters {
        parameters.set_item(name, value)?;
        errors.set_item(name, standard_error.unwrap_or(f64::NAN))?;
    }
    let size = if inference.covariances.is_empty() { 0 } else { inference.parameters.len() };
    let covariance = inference.covariances.to_pyarray(py).reshape([size, size])?;
    let class = py.import("foretop._inference")?.getattr("Inference")?;
    class.call1((
        parameters,
        errors,
        covariance,
        inference.log_likelihood,
        inference.n_samples,
        inference.aic(),
        inference.aicc(),
        inference.bic(),
        model,
    ))
}

/// Reads an object that [`inference_object`] made.
pub(crate) fn read_inference(object: &Bound<'_, PyAny>) -> PyResult<Inference> {
    let values: Vec<(String, f64)> = items(object, "parameters")?;
    let errors: Vec<(String, f64)> = items(object, "standard_errors")?;
    let parameter = |((name, value), (_, error)): ((String, f64), (String, f64))| {
        let standard_error = Some(error).filter(|error| !error.is_nan());
        Parameter { name, value, standard_error }
    };
    let covariance: Bound<'_, PyArray2<f64>> = object.getattr("covariance")?.cast_into()?;
    Ok(Inference {
        parameters: values.into_iter().zip(errors).map(parameter).collect(),
        covariances: covariance.to_vec()?,
        log_likelihood: object.getattr("log_likelihood")?.extract()?,
        n_samples: object.getattr("n_samples")?.extract()?,
    })
}

fn items(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<(String, f64)>> {
    let values: Bound<'_, PyDict> = object.getattr(name)?.cast_into()?;
    values.iter().map(|item| Ok((item.0.extract()?, item.1.extract()?))).collect()
}
