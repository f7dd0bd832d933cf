//! `weft.ext.z_serialize` and `z_deserialize`: Python's types over the library's serializer.
//!
//! Types are told apart exactly: a subclass of `int` is an integer only if it is one of the sized ones. numpy's scalars and
//! arrays are those of their dtype; an array of several dimensions is a list of lists.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString,
    PyTuple, PyType,
};
use weft::ext::{DeserializeError, Deserializer, Serializer};

use crate::bytes::PyZBytes;

/// A number of the format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
}

/// Python's class for each, in `weft.ext`.
const NUMBERS: [(&str, Number); 12] = [
    ("Int8", Number::I8),
    ("Int16", Number::I16),
    ("Int32", Number::I32),
    ("Int64", Number::I64),
    ("Int128", Number::I128),
    ("UInt8", Number::U8),
    ("UInt16", Number::U16),
    ("UInt32", Number::U32),
    ("UInt64", Number::U64),
    ("UInt128", Number::U128),
    ("Float32", Number::F32),
    ("Float64", Number::F64),
];

/// numpy's kind and size of each.
const DTYPES: [(&str, Number); 10] = [
    ("i1", Number::I8),
    ("i2", Number::I16),
    ("i4", Number::I32),
    ("i8", Number::I64),
    ("u1", Number::U8),
    ("u2", Number::U16),
    ("u4", Number::U32),
    ("u8", Number::U64),
    ("f4", Number::F32),
    ("f8", Number::F64),
];

fn classes(py: Python<'_>) -> PyResult<&'static Vec<Py<PyType>>> {
    static CLASSES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let module = py.import("weft.ext")?;
        let class = |(name, _): &(&str, Number)| Ok(module.getattr(*name)?.cast_into()?.unbind());
        NUMBERS.iter().map(class).collect()
    })
}

/// The number that `class` stands for, if it is one of ours.
fn number(class: &Bound<'_, PyType>) -> PyResult<Option<Number>> {
    let index = classes(class.py())?.iter().position(|it| it.is(class));
    Ok(index.map(|index| NUMBERS[index].1))
}

macro_rules! with_number {
    ($number:expr, $type:ident => $body:expr) => {
        match $number {
            Number::I8 => {
                type $type = i8;
                $body
            }
            Number::I16 => {
                type $type = i16;
                $body
            }
            Number::I32 => {
                type $type = i32;
                $body
            }
            Number::I64 => {
                type $type = i64;
                $body
            }
            Number::I128 => {
                type $type = i128;
                $body
            }
            Number::U8 => {
                type $type = u8;
                $body
            }
            Number::U16 => {
                type $type = u16;
                $body
            }
            Number::U32 => {
                type $type = u32;
                $body
            }
            Number::U64 => {
                type $type = u64;
                $body
            }
            Number::U128 => {
                type $type = u128;
                $body
            }
            Number::F32 => {
                type $type = f32;
                $body
            }
            Number::F64 => {
                type $type = f64;
                $body
            }
        }
    };
}

/// Serializes a value: a number, `bool`, text, bytes, a collection of them, or what numpy makes of numbers.
///
/// `int` is 32 bits wide (`OverflowError` beyond), `float` 64; `weft.ext.Int8` and its like say otherwise. Raises `TypeError` for other
/// types, `ValueError` for collections whose items are not of one type.
#[pyfunction]
pub(crate) fn z_serialize(obj: &Bound<'_, PyAny>) -> PyResult<PyZBytes> {
    let mut to = Serializer::new();
    write(obj, &mut to)?;
    Ok(to.finish().into())
}

fn write(obj: &Bound<'_, PyAny>, to: &mut Serializer) -> PyResult<()> {
    let class = obj.get_type();
    if let Ok(text) = obj.cast_exact::<PyString>() {
        to.serialize(&*text.to_cow()?);
    } else if let Ok(value) = obj.cast_exact::<PyInt>() {
        let value: i32 = value.extract().map_err(|_| {
            PyOverflowError::new_err("int does not fit in 32 bits: use weft.ext.Int64 or its like")
        })?;
        to.serialize(&value);
    } else if let Ok(value) = obj.cast_exact::<PyFloat>() {
        to.serialize(&value.value());
    } else if let Ok(value) = obj.cast_exact::<PyBool>() {
        to.serialize(&value.is_true());
    } else if let Ok(bytes) = obj.cast_exact::<PyBytes>() {
        to.write_bytes(bytes.as_bytes());
    } else if let Ok(bytes) = obj.cast_exact::<PyByteArray>() {
        to.write_bytes(&bytes.to_vec());
    } else if let Ok(bytes) = obj.cast_exact::<PyZBytes>() {
        bytes.get().lend(|bytes| to.write_bytes(bytes));
    } else if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        for item in tuple {
            write(&item, to)?;
        }
    } else if let Ok(dict) = obj.cast_exact::<PyDict>() {
        write_dict(dict, to)?;
    } else if obj.is_exact_instance_of::<PyList>()
        || obj.is_exact_instance_of::<PySet>()
        || obj.is_exact_instance_of::<PyFrozenSet>()
    {
        write_items(obj, to)?;
    } else if let Some(number) = number(&class)? {
        with_number!(number, Value => to.serialize(&obj.extract::<Value>()?));
    } else if obj.hasattr("dtype")? && obj.hasattr("__array__")? {
        write_numpy(obj, to)?;
    } else {
        return Err(PyTypeError::new_err(format!("cannot serialize {}", class.name()?)));
    }
    Ok(())
}

fn write_items(items: &Bound<'_, PyAny>, to: &mut Serializer) -> PyResult<()> {
    to.write_len(items.len()? as u64);
    let mut class = None;
    for item in items.try_iter()? {
        let item = item?;
        same(&mut class, &item)?;
        write(&item, to)?;
    }
    Ok(())
}

fn write_dict(dict: &Bound<'_, PyDict>, to: &mut Serializer) -> PyResult<()> {
    to.write_len(dict.len() as u64);
    let (mut keys, mut values) = (None, None);
    for (key, value) in dict {
        same(&mut keys, &key)?;
        same(&mut values, &value)?;
        write(&key, to)?;
        write(&value, to)?;
    }
    Ok(())
}

/// Whether `item` has the type of those before.
fn same<'py>(class: &mut Option<Bound<'py, PyType>>, item: &Bound<'py, PyAny>) -> PyResult<()> {
    let own = item.get_type();
    match class {
        Some(class) if !class.is(&own) => {
            let text = format!("items of different types: {} and {}", class.name()?, own.name()?);
            Err(PyValueError::new_err(text))
        }
        _ => {
            *class = Some(own);
            Ok(())
        }
    }
}

fn dtype_number(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let code = format!("{kind}{size}");
    Ok(DTYPES.iter().find(|(name, _)| *name == code).map(|(_, number)| *number))
}

/// A scalar or an array of numpy's.
fn write_numpy(obj: &Bound<'_, PyAny>, to: &mut Serializer) -> PyResult<()> {
    let dtype = obj.getattr("dtype")?;
    let dimensions: usize = obj.getattr("ndim")?.extract()?;
    if dimensions == 0 {
        let value = obj.call_method0("item")?;
        return match dtype_number(&dtype)? {
            Some(number) => with_number!(number, Value => {
                to.serialize(&value.extract::<Value>()?);
                Ok(())
            }),
            None => write(&value, to),
        };
    }
    let items = obj.call_method0("tolist")?;
    match dtype_number(&dtype)? {
        Some(number) if dimensions == 1 => with_number!(number, Value => {
            to.serialize(&items.extract::<Vec<Value>>()?);
            Ok(())
        }),
        Some(_) => {
            to.write_len(obj.len()? as u64);
            obj.try_iter()?.try_for_each(|row| write_numpy(&row?, to))
        }
        None if dtype.getattr("kind")?.extract::<String>()? == "b" => write(&items, to),
        None => Err(PyTypeError::new_err(format!("cannot serialize an array of {dtype}"))),
    }
}

/// A type to deserialize to.
enum Shape {
    Text,
    Bool,
    Bytes,
    ByteArray,
    ZBytes,
    /// A number, and the class to wrap it in.
    Number(Number, Option<Py<PyAny>>),
    List(Box<Self>),
    /// A set, and whether it is frozen.
    Set(Box<Self>, bool),
    Dict(Box<Self>, Box<Self>),
    Tuple(Vec<Self>),
    /// An array of numpy's, of one dimension, and its dtype.
    Array(Number, Py<PyAny>),
}

/// Reads a type. `plain` numbers are not wrapped: those in lists and sets.
fn shape(tp: &Bound<'_, PyAny>, plain: bool) -> PyResult<Shape> {
    let py = tp.py();
    let is = |class: Bound<'_, PyType>| tp.is(&class);
    if let Ok(class) = tp.cast::<PyType>()
        && let Some(number) = number(class)?
    {
        return Ok(Shape::Number(number, (!plain).then(|| tp.clone().unbind())));
    }
    for (class, shape) in [
        (py.get_type::<PyString>(), Shape::Text),
        (py.get_type::<PyBool>(), Shape::Bool),
        (py.get_type::<PyBytes>(), Shape::Bytes),
        (py.get_type::<PyByteArray>(), Shape::ByteArray),
        (py.get_type::<PyZBytes>(), Shape::ZBytes),
        (py.get_type::<PyInt>(), Shape::Number(Number::I32, None)),
        (py.get_type::<PyFloat>(), Shape::Number(Number::F64, None)),
    ] {
        if is(class) {
            return Ok(shape);
        }
    }
    let (Ok(origin), Ok(arguments)) = (tp.getattr("__origin__"), tp.getattr("__args__")) else {
        return bare(tp);
    };
    let arguments: Vec<Bound<'_, PyAny>> = arguments.extract()?;
    match (origin.cast::<PyType>(), &arguments[..]) {
        (Ok(class), [item]) if class.is(py.get_type::<PyList>()) => {
            Ok(Shape::List(Box::new(shape(item, true)?)))
        }
        (Ok(class), [item]) if class.is(py.get_type::<PySet>()) => {
            Ok(Shape::Set(Box::new(shape(item, true)?), false))
        }
        (Ok(class), [item]) if class.is(py.get_type::<PyFrozenSet>()) => {
            Ok(Shape::Set(Box::new(shape(item, true)?), true))
        }
        (Ok(class), [key, value]) if class.is(py.get_type::<PyDict>()) => {
            Ok(Shape::Dict(Box::new(shape(key, false)?), Box::new(shape(value, false)?)))
        }
        (Ok(class), items) if class.is(py.get_type::<PyTuple>()) => {
            if items.iter().any(|item| item.is(py.Ellipsis())) {
                return Err(PyTypeError::new_err("a tuple must say how many items it has"));
            }
            // `tuple[()]` had one empty argument in old versions.
            let is_empty = |item: &Bound<'_, PyAny>| {
                item.cast::<PyTuple>().is_ok_and(PyTupleMethods::is_empty)
            };
            let items = items.iter().filter(|item| !is_empty(item));
            Ok(Shape::Tuple(items.map(|item| shape(item, false)).collect::<PyResult<_>>()?))
        }
        (Ok(class), [_, dtype]) if class.name()? == "ndarray" => {
            let scalar = dtype.getattr("__args__")?.get_item(0)?;
            array(&scalar)
        }
        _ => Err(PyTypeError::new_err(format!("cannot deserialize to {tp}"))),
    }
}

/// A type without arguments that is none of the plain ones.
fn bare(tp: &Bound<'_, PyAny>) -> PyResult<Shape> {
    let py = tp.py();
    let is = |class: Bound<'_, PyType>| tp.is(&class);
    if is(py.get_type::<PyList>())
        || is(py.get_type::<PyDict>())
        || is(py.get_type::<PySet>())
        || is(py.get_type::<PyFrozenSet>())
        || is(py.get_type::<PyTuple>())
    {
        return Err(PyValueError::new_err(format!("{} needs the types of its items", tp.str()?)));
    }
    if tp.getattr("__module__").is_ok_and(|it| it.to_string() == "numpy") {
        let Shape::Array(number, dtype) = array(tp)? else { unreachable!("an array") };
        return Ok(Shape::Number(number, Some(dtype.getattr(py, "type")?)));
    }
    Err(PyTypeError::new_err(format!("cannot deserialize to {tp}")))
}

fn array(scalar: &Bound<'_, PyAny>) -> PyResult<Shape> {
    let dtype = scalar.py().import("numpy")?.call_method1("dtype", (scalar,))?;
    let number = dtype_number(&dtype)?
        .ok_or_else(|| PyTypeError::new_err(format!("cannot deserialize to {scalar}")))?;
    Ok(Shape::Array(number, dtype.unbind()))
}

/// The value of type `tp` that `zbytes` is of. Collections say what is in them: `list[int]`, `tuple[int, str]`.
///
/// Raises `ZDeserializeError` if there is no such value; `strict` also if bytes are left. Raises `ValueError` for collections that
/// do not say what is in them, `TypeError` for other types. Also takes `numpy.int16` and the like, and
/// `numpy.typing.NDArray[numpy.float32]` for arrays of one dimension.
#[pyfunction]
#[pyo3(signature = (tp, zbytes, *, strict=false))]
pub(crate) fn z_deserialize<'py>(
    tp: &Bound<'py, PyAny>,
    zbytes: PyRef<'py, PyZBytes>,
    strict: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tp.py();
    let shape = shape(tp, false)?;
    zbytes.lend(|bytes| {
        let mut from = Deserializer::new(bytes);
        let value = read(py, &shape, &mut from)?;
        if strict {
            from.finish().map_err(|error| malformed(py, error))?;
        }
        Ok(value)
    })
}

fn malformed(py: Python<'_>, error: DeserializeError) -> PyErr {
    let class = py.import("weft.ext").and_then(|it| it.getattr("ZDeserializeError"));
    let text = format!("deserialization error: {error}");
    match class.and_then(|class| class.call1((text,))) {
        Ok(raised) => PyErr::from_value(raised),
        Err(failure) => failure,
    }
}

fn read<'py>(
    py: Python<'py>,
    shape: &Shape,
    from: &mut Deserializer<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let fault = |error| malformed(py, error);
    Ok(match shape {
        Shape::Text => PyString::new(py, from.read_str().map_err(fault)?).into_any(),
        Shape::Bool => PyBool::new(py, from.deserialize().map_err(fault)?).to_owned().into_any(),
        Shape::Bytes => PyBytes::new(py, from.read_bytes().map_err(fault)?).into_any(),
        Shape::ByteArray => PyByteArray::new(py, from.read_bytes().map_err(fault)?).into_any(),
        Shape::ZBytes => {
            let bytes = weft::ZBytes::from(from.read_bytes().map_err(fault)?);
            Bound::new(py, PyZBytes::from(bytes))?.into_any()
        }
        Shape::Number(number, wrapper) => {
            let value = with_number!(*number, Value => {
                from.deserialize::<Value>().map_err(fault)?.into_pyobject(py)?.into_any()
            });
            match wrapper {
                Some(class) => class.bind(py).call1((value,))?,
                None => value,
            }
        }
        Shape::List(item) => {
            let list = PyList::empty(py);
            each(py, from, |from| list.append(read(py, item, from)?))?;
            list.into_any()
        }
        Shape::Set(item, frozen) => {
            let set = PySet::empty(py)?;
            each(py, from, |from| set.add(read(py, item, from)?))?;
            if *frozen { py.get_type::<PyFrozenSet>().call1((set,))? } else { set.into_any() }
        }
        Shape::Dict(key, value) => {
            let dict = PyDict::new(py);
            each(py, from, |from| {
                let key = read(py, key, from)?;
                dict.set_item(key, read(py, value, from)?)
            })?;
            dict.into_any()
        }
        Shape::Tuple(items) => {
            let items: Vec<_> =
                items.iter().map(|item| read(py, item, from)).collect::<PyResult<_>>()?;
            PyTuple::new(py, items)?.into_any()
        }
        Shape::Array(number, dtype) => {
            let items = with_number!(*number, Value => {
                from.deserialize::<Vec<Value>>().map_err(fault)?.into_pyobject(py)?.into_any()
            });
            let keywords = PyDict::new(py);
            keywords.set_item("dtype", dtype)?;
            py.import("numpy")?.call_method("array", (items,), Some(&keywords))?
        }
    })
}

/// Reads a length and so many items. Items of no bytes are as many as they say, up to a limit.
fn each(
    py: Python<'_>,
    from: &mut Deserializer<'_>,
    mut item: impl FnMut(&mut Deserializer<'_>) -> PyResult<()>,
) -> PyResult<()> {
    let count = from.read_len().map_err(|error| malformed(py, error))?;
    let mut empty = 0;
    for _ in 0..count {
        let before = from.remaining();
        item(from)?;
        empty += u64::from(from.remaining() == before);
        if empty > weft::ext::EMPTY_ITEMS_MAX {
            return Err(PyValueError::new_err("too many items without bytes"));
        }
    }
    Ok(())
}
